// What a running trial gets from outside: its order, and the host that it reports to. Test double:
// tests/unit/worker/twin_host.h.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/release/charge.h"

namespace retort::worker {

// What the agent asked a worker for.
struct TrialOrder {
  AttemptId attempt;
  std::uint64_t generation = 0;
  cluster::Start start;
  std::string build;  // for provenance: what this program was built from
};

// The least seconds between two reports of progress. A trial that may share its device is measured by its reports; one
// with a deadline is ended when none comes for so long, whatever the machine does meanwhile.
[[nodiscard]] inline double ReportSeconds(const TrialSpec& spec) {
  const double usual = spec.execution.pack == PackMode::automatic ? 0.1 : 0.5;
  return spec.execution.deadline_seconds > 0 ? std::min(usual, spec.execution.deadline_seconds / 4) : usual;
}

// Reserve (inherited) blocks until the ledger has answered. Error: refused with the ledger's reason;
// cancelled when a stop came first. Not thread-safe.
class TrialHost : public release::LedgerClient {
 public:
  // `count` draws of `event` that were made before and that the ledger does not know any more. No budget refuses them.
  // Errors: as Reserve.
  [[nodiscard]] virtual Status ChargeDrawn(const privacy::PrivacyEvent& event, std::int64_t count) {
    return Reserve(event, count).status();
  }
  // Errors of both: the agent is gone.
  [[nodiscard]] virtual Status Report(const cluster::Progress& progress) = 0;
  [[nodiscard]] virtual Status Report(const cluster::CheckpointCommitted& committed) = 0;
  // Announces where the other members of the gang find this one; gang rank 0 alone. Error: the agent is gone.
  [[nodiscard]] virtual Status AnnounceGang(const std::string& address) = 0;
  // What gang rank 0 announced. Error: cancelled when a stop came first; environment when nothing came in time.
  [[nodiscard]] virtual Result<std::string> AwaitGang(std::chrono::milliseconds deadline) = 0;
  // Called between steps; never blocks. Once a stop has come it stays.
  [[nodiscard]] virtual std::optional<cluster::Stop> StopRequested() = 0;
};

// ChargeDrawn of each event.
[[nodiscard]] inline Status ChargeDrawnEvents(const std::vector<privacy::PrivacyEvent>& events, TrialHost& host) {
  for (const privacy::PrivacyEvent& event : events) RETORT_RETURN_IF_ERROR(host.ChargeDrawn(event, event.count));
  return {};
}

}  // namespace retort::worker
