// The orchestrator as a worker's reservations reach it: the real reactor, ledger and journal behind a port.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/core/outbox.h"
#include "orchestrator/journal/recovery.h"
#include "tests/testing/fault_injection_env.h"
#include "worker/sleep/trial_host.h"

namespace retort::testing {

// Thrown where a process dies.
struct Killed {};

// The places between operations, numbered as they are passed.
class Points {
 public:
  void KillAt(int point) { left_ = point; }  // counted from now; negative: never
  void Pass() {
    if (left_ < 0) return;
    if (left_-- != 0) return;
    if (on_kill) on_kill();
    throw Killed();
  }
  std::function<void()> on_kill;  // before anything of the killed process ends in good order

 private:
  int left_ = -1;
};

// Ways to charge that look right as long as nobody dies.
enum class ChargeFault {
  none,
  settles_before_draw,    // settles what was drawn so far, nothing, and corrects it when the block is spent
  grants_before_durable,  // answers, and writes the reservation when it is settled
  retries_are_free,       // what a later attempt asks for counts as paid by the first
  leases_tell_nothing,    // a lease does not say what the ledger has charged
};

class ChargeHost final : public worker::TrialHost {
 public:
  static constexpr char kResults[] = "/results";

  ChargeHost(FaultInjectionEnv& disk, Points& points, ChargeFault fault);
  // Recovers what the disk holds and leases the trial.
  [[nodiscard]] Status Start();
  // The trial's worker is gone: waits until the trial is leased again; false when it will not be.
  [[nodiscard]] bool LeaseAgain();
  [[nodiscard]] const orchestrator::ActiveAttempt* attempt() const;
  // What the attempt was told at its lease that the trial was charged.
  [[nodiscard]] const std::vector<privacy::PrivacyEvent>& charged() const { return charged_; }
  [[nodiscard]] Status Succeed();
  [[nodiscard]] bool succeeded() const;

  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override;
  Status Settle(std::uint64_t id, std::int64_t used) override;
  Status Report(const cluster::Progress& progress) override { return Say(progress); }
  Status Report(const cluster::CheckpointCommitted& committed) override { return Say(committed); }
  Status AnnounceGang(const std::string&) override { return {}; }
  Result<std::string> AwaitGang(std::chrono::milliseconds) override { return EnvironmentError("there is no gang"); }
  std::optional<cluster::Stop> StopRequested() override { return std::nullopt; }

 private:
  [[nodiscard]] Status Say(cluster::Message message, std::vector<orchestrator::Outgoing>* said = nullptr);
  [[nodiscard]] Status Pass(double seconds);
  [[nodiscard]] Status Commit(orchestrator::Outbox& outbox);
  void Spoil(orchestrator::Outbox& outbox);
  [[nodiscard]] Status Correct(std::uint64_t id, std::int64_t used);
  [[nodiscard]] orchestrator::Now now() const { return {time_, 1.7e9 + time_}; }

  FaultInjectionEnv& disk_;
  Points& points_;
  ChargeFault fault_;
  std::optional<orchestrator::Recovered> recovered_;
  TrialId trial_;
  double time_ = 1000;
  std::uint64_t last_request_ = 0;
  std::vector<privacy::PrivacyEvent> charged_;
  std::map<std::uint64_t, orchestrator::LedgerReserve> granted_;  // by the entry that the reactor was told
};

}  // namespace retort::testing
