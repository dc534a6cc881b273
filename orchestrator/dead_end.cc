#include "orchestrator/dead_end.h"

#include <fmt/format.h>

#include <algorithm>

#include "orchestrator/quota_gate.h"
#include "orchestrator/time_fit.h"

namespace retort::orchestrator {

Status CheckRoom(const Core& core, const Trial& trial) {
  const auto& agents = core.fleet.agents();
  if (agents.size() < static_cast<std::size_t>(core.settings().world_size)) return {};
  std::ptrdiff_t drained = 0, seats = 0;
  for (const auto& [rank, agent] : agents) {
    seats += std::count(agent.drained.begin(), agent.drained.end(), false);
    drained += std::count(agent.drained.begin(), agent.drained.end(), true);
  }
  if (trial.spec.devices > seats) {
    const std::string besides = drained > 0 ? fmt::format(" besides {} where trials failed", drained) : "";
    return Refused(
        fmt::format("{} needs {} devices at once, and this run has {}{}: end it, start it with more "
                    "ranks, or more workers on each (--slots), and retry then",
                    trial.spec.name, trial.spec.devices, seats, besides));
  }
  for (const std::size_t index : trial.children) {
    const Trial& child = core.At(index);
    if (child.planned && child.state == TrialState::parent_failed)
      RETORT_RETURN_IF_ERROR(CheckRoom(core, child));
  }
  return {};
}

std::string DeadEnd(const Core& core, Now now) {
  if (!core.may_lease || !core.fleet.active().empty()) return "";
  const int seats = core.fleet.LiveSeats();
  const Trial* too_large = nullptr;
  for (const Core::ReadyKey& key : core.ready()) {
    const Trial& trial = core.At(key.index);
    if (trial.spec.devices > seats)
      too_large = too_large == nullptr ? &trial : too_large;
    else if (TimeRefusal(core, trial, now).empty() && QuotaRefusal(core, trial.spec.id, now).empty())
      return "";
  }
  if (too_large == nullptr) return "";
  return fmt::format("nothing could start for {:.0f} s: {} needs {} device{}, and {} {} left",
                     kDeadEndSeconds, too_large->spec.name, too_large->spec.devices,
                     too_large->spec.devices == 1 ? "" : "s", seats, seats == 1 ? "is" : "are");
}

}  // namespace retort::orchestrator
