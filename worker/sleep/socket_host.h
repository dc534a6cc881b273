// TrialHost over the socket to the agent.
#pragma once

#include <cstdint>
#include <optional>

#include "cluster/socket_link.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {

// Sends and receives for one attempt. `link` outlives it, and only this object uses it meanwhile.
class SocketHost final : public TrialHost {
 public:
  SocketHost(cluster::SocketLink& link, AttemptId attempt, Generation generation);

  [[nodiscard]] Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override;
  [[nodiscard]] Status ChargeDrawn(const privacy::PrivacyEvent& event, std::int64_t count) override;
  [[nodiscard]] Status Settle(std::uint64_t id, std::int64_t used) override;
  [[nodiscard]] Status Report(const cluster::Progress& progress) override;
  [[nodiscard]] Status Report(const cluster::CheckpointCommitted& committed) override;
  [[nodiscard]] Status AnnounceGang(const std::string& address) override;
  [[nodiscard]] Result<std::string> AwaitGang(std::chrono::milliseconds deadline) override;
  // A lost agent counts as a stop that saves.
  [[nodiscard]] std::optional<cluster::Stop> StopRequested() override;
  [[nodiscard]] Status Send(cluster::Message message);

 private:
  // Sends it and waits for the answer.
  [[nodiscard]] Result<std::uint64_t> Ask(cluster::Reserve reserve);
  // Notes a stop or the gang's address; hands back an answer to reservation `id`, if that is what came.
  [[nodiscard]] std::optional<cluster::Reserved> Note(const cluster::Envelope& envelope, std::uint64_t id);

  cluster::SocketLink& link_;
  AttemptId attempt_;
  Generation generation_;
  std::uint64_t sequence_ = 0;
  std::uint64_t last_id_ = 0;
  std::optional<cluster::Stop> stop_;
  std::optional<std::string> gang_;
};

}  // namespace retort::worker
