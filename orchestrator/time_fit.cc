#include "orchestrator/time_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retort::orchestrator {

std::optional<double> SecondsToCheckpoint(const CostModel& costs, const TrialSpec& spec,
                                          const TrialSpec* teacher, double done) {
  const std::optional<CostEstimate> cost = costs.For(spec, teacher);
  if (!cost) return std::nullopt;
  const double left = cost->unit_seconds * WorkOf(spec) * (1 - std::clamp(done, 0.0, 1.0));
  double due = std::min(left, spec.checkpoint_seconds + cost->unit_seconds);
  if (spec.checkpoint_steps > 0)
    due = std::min(due, cost->unit_seconds * static_cast<double>(spec.checkpoint_steps));
  return cost->start_seconds + due;
}

double FractionDone(std::int64_t step, std::int64_t total_steps) {
  if (total_steps <= 0) return 0;
  return std::clamp(static_cast<double>(step) / static_cast<double>(total_steps), 0.0, 1.0);
}

std::string RefuseByTime(std::optional<double> to_checkpoint, double left) {
  if (!to_checkpoint || *to_checkpoint <= left) return "";
  return fmt::format("its next checkpoint is {:.3g} s away, and the run stops in {:.3g} s", *to_checkpoint,
                     std::max(left, 0.0));
}

std::string TimeRefusal(const Core& core, const Trial& trial, Now now) {
  if (!core.work_ends) return "";
  const Trial* teacher = trial.spec.parent ? core.Find(*trial.spec.parent) : nullptr;
  const std::optional<double> needed =
      SecondsToCheckpoint(core.costs, trial.spec, teacher == nullptr ? nullptr : &teacher->spec,
                          FractionDone(trial.step, trial.total_steps));
  return RefuseByTime(needed, *core.work_ends - now.monotonic);
}

std::string TimeStop(const Core& core, Now now) {
  if (!core.work_ends || core.ready().empty() || !core.fleet.active().empty()) return "";
  for (const Core::ReadyKey& key : core.ready())
    if (TimeRefusal(core, core.At(key.index), now).empty()) return "";
  return fmt::format("the {:.3g} s that are left are too few for the next checkpoint of any queued trial",
                     std::max(*core.work_ends - now.monotonic, 0.0));
}

}  // namespace retort::orchestrator
