#include "orchestrator/scheduler.h"

namespace retort::orchestrator {

std::vector<Placement> Schedule(const Core& core, Now now) {
  std::vector<Placement> placements;
  if (core.stop || !core.fleet.HasFreeSeat() || core.ready().empty()) return placements;
  const std::vector<Seat> seats = core.fleet.FreeSeats();
  for (const Core::ReadyKey& key : core.ready()) {
    if (placements.size() == seats.size()) break;
    const Trial& trial = core.At(key.index);
    if (trial.retry_at > now.unix_seconds) continue;
    placements.push_back({trial.spec.id, seats[placements.size()]});
  }
  return placements;
}

double NextRetry(const Core& core, Now now) {
  double next = 0;
  for (const Core::ReadyKey& key : core.ready()) {
    const double at = core.At(key.index).retry_at;
    if (at > now.unix_seconds && (next == 0 || at < next)) next = at;
  }
  return next;
}

}  // namespace retort::orchestrator
