// What a running trial needs from outside. Twin for tests: tests/unit/worker/twin_host.h.
#pragma once

#include <optional>

#include "cluster/messages.h"
#include "experiments/spec/status.h"
#include "worker/release/charge.h"

namespace retort::worker {

// Reserve (inherited) blocks until the ledger has answered. Error: refused with the ledger's reason;
// cancelled when a stop came first. Not thread-safe.
class TrialHost : public release::ReservationPort {
 public:
  // Errors of both: the agent is gone.
  [[nodiscard]] virtual Status Report(const cluster::Progress& progress) = 0;
  [[nodiscard]] virtual Status Report(const cluster::CheckpointCommitted& committed) = 0;
  // Asked between steps; never blocks. Once a stop was seen it stays.
  [[nodiscard]] virtual std::optional<cluster::Stop> StopRequested() = 0;
};

}  // namespace retort::worker
