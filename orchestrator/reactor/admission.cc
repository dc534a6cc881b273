#include "orchestrator/reactor/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retort::orchestrator {

std::string RefuseByQuota(const Core& core, TrialId trial, Now now, std::int64_t starting, std::int64_t starting_new) {
  if (core.quota == Quota{}) return "";
  return RefuseByQuota(core.quota, core.usage(), trial, now.unix_seconds, starting, starting_new);
}

std::string FindQuotaStop(const Core& core, Now now) {
  if (core.quota == Quota{} || core.AllFinal()) return "";
  if (std::string spent = FindSpentQuota(core.quota, core.usage(), now.unix_seconds); !spent.empty()) return spent;
  if (!core.fleet.active().empty()) return "";
  std::string refusal;
  for (const Core::ReadyKey& key : core.ready()) {
    refusal = RefuseByQuota(core, core.At(key.index).spec.id, now);
    if (refusal.empty()) return "";
  }
  return refusal;
}

std::optional<double> ComputeSecondsToCheckpoint(const CostModel& costs, const TrialSpec& spec,
                                                 const TrialSpec* teacher, double done) {
  const std::optional<CostEstimate> cost = costs.For(spec, teacher);
  if (!cost) return std::nullopt;
  const double left = cost->unit_seconds * CountWorkUnits(spec) * (1 - std::clamp(done, 0.0, 1.0));
  double due = std::min(left, spec.execution.checkpoint_seconds + cost->unit_seconds);
  if (spec.execution.checkpoint_steps > 0)
    due = std::min(due, cost->unit_seconds * static_cast<double>(spec.execution.checkpoint_steps));
  return cost->start_seconds + due;
}

double ComputeFractionDone(std::int64_t step, std::int64_t total_steps) {
  if (total_steps <= 0) return 0;
  return std::clamp(static_cast<double>(step) / static_cast<double>(total_steps), 0.0, 1.0);
}

std::string RefuseByTime(std::optional<double> to_checkpoint, double left) {
  if (!to_checkpoint || *to_checkpoint <= left) return "";
  return fmt::format("its next checkpoint is {:.3g} s away, and the run stops in {:.3g} s", *to_checkpoint,
                     std::max(left, 0.0));
}

std::string RefuseByTime(const Core& core, const Trial& trial, Now now) {
  if (!core.work_ends) return "";
  const Trial* teacher = trial.spec.parent ? core.Find(*trial.spec.parent) : nullptr;
  const std::optional<double> needed =
      ComputeSecondsToCheckpoint(core.costs, trial.spec, teacher == nullptr ? nullptr : &teacher->spec,
                                 ComputeFractionDone(trial.step, trial.total_steps));
  return RefuseByTime(needed, *core.work_ends - now.monotonic);
}

std::string FindTimeStop(const Core& core, Now now) {
  if (!core.work_ends || core.ready().empty() || !core.fleet.active().empty()) return "";
  for (const Core::ReadyKey& key : core.ready())
    if (RefuseByTime(core, core.At(key.index), now).empty()) return "";
  return fmt::format("the {:.3g} s that are left are too few for the next checkpoint of any queued trial",
                     std::max(*core.work_ends - now.monotonic, 0.0));
}

Status CheckEnoughDevices(const Core& core, const Trial& trial) {
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
      RETORT_RETURN_IF_ERROR(CheckEnoughDevices(core, child));
  }
  return {};
}

std::string FindDeadlock(const Core& core, Now now) {
  if (!core.may_lease || !core.fleet.active().empty()) return "";
  const int seats = core.fleet.CountLiveSlots();
  const Trial* too_large = nullptr;
  for (const Core::ReadyKey& key : core.ready()) {
    const Trial& trial = core.At(key.index);
    if (trial.spec.devices > seats)
      too_large = too_large == nullptr ? &trial : too_large;
    else if (RefuseByTime(core, trial, now).empty() && RefuseByQuota(core, trial.spec.id, now).empty())
      return "";
  }
  if (too_large == nullptr) return "";
  return fmt::format("nothing could start for {:.0f} s: {} needs {} device{}, and {} {} left", kDeadlockSeconds,
                     too_large->spec.name, too_large->spec.devices, too_large->spec.devices == 1 ? "" : "s", seats,
                     seats == 1 ? "is" : "are");
}

}  // namespace retort::orchestrator
