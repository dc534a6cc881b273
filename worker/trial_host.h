// What a running trial needs from outside. Twin for tests: tests/unit/worker/twin_host.h.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "experiments/spec/status.h"
#include "worker/release/charge.h"

namespace retort::worker {

// Reserve (inherited) blocks until the ledger has answered. Error: refused with the ledger's reason;
// cancelled when a stop came first. Not thread-safe.
class TrialHost : public release::ReservationPort {
 public:
  // `count` draws of `event` that were made before and that the ledger does not know any more. No budget refuses them.
  // Errors: as Reserve.
  [[nodiscard]] virtual Status ChargeDrawn(const privacy::PrivacyEvent& event, std::int64_t count) {
    return Reserve(event, count).status();
  }
  // Errors of both: the agent is gone.
  [[nodiscard]] virtual Status Report(const cluster::Progress& progress) = 0;
  [[nodiscard]] virtual Status Report(const cluster::CheckpointCommitted& committed) = 0;
  // Where the other members of the gang find it; gang rank 0 alone. Error: the agent is gone.
  [[nodiscard]] virtual Status AnnounceGang(const std::string& address) = 0;
  // What gang rank 0 announced. Error: cancelled when a stop came first; environment when nothing came in time.
  [[nodiscard]] virtual Result<std::string> AwaitGang(std::chrono::milliseconds deadline) = 0;
  // Asked between steps; never blocks. Once a stop was seen it stays.
  [[nodiscard]] virtual std::optional<cluster::Stop> StopRequested() = 0;
};

// ChargeDrawn of each event.
[[nodiscard]] inline Status ChargeAgain(const std::vector<privacy::PrivacyEvent>& events, TrialHost& host) {
  for (const privacy::PrivacyEvent& event : events) RETORT_RETURN_IF_ERROR(host.ChargeDrawn(event, event.count));
  return {};
}

}  // namespace retort::worker
