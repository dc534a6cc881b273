#include "orchestrator/live_estimate.h"

#include <algorithm>
#include <vector>

#include "orchestrator/progress_text.h"
#include "orchestrator/system_clock.h"
#include "orchestrator/time_fit.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kTrialsDrawnLive = 20'000;

}  // namespace

std::optional<SweepEstimate> EstimateRun(const Core& core, Now now, std::size_t most) {
  const std::size_t left = core.plan().size() - CountDone(core);
  if (left == 0 || left > most || core.stop) return std::nullopt;
  std::vector<PendingTrial> pending;
  pending.reserve(left);
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (IsFinal(trial.state)) continue;
    const Trial* teacher = trial.spec.parent ? core.Find(*trial.spec.parent) : nullptr;
    const ActiveAttempt* active = core.fleet.Find(trial.spec.id);
    PendingTrial one;
    one.spec = &trial.spec;
    one.teacher = teacher == nullptr ? nullptr : &teacher->spec;
    one.running = active != nullptr;
    one.done = active != nullptr && active->total_steps > 0 ? FractionDone(active->step, active->total_steps)
                                                            : FractionDone(trial.step, trial.total_steps);
    if (active != nullptr) SetPace(one, trial.pace, trial.step, trial.total_steps, now.unix_seconds);
    pending.push_back(one);
  }
  const int slots = std::max(core.fleet.LiveSeats(), 1);
  return EstimateSweep(core.costs, pending, slots, static_cast<int>(core.quota.concurrency),
                       kTrialsDrawnLive);
}

const std::optional<SweepEstimate>& LiveEstimate::Of(const Core& core, Now now) {
  if (now.monotonic < next_) return newest_;
  const double began = ReadClocks().monotonic;
  newest_ = EstimateRun(core, now, kMostTrials);
  const double took = ReadClocks().monotonic - began;
  next_ = now.monotonic + std::max(kPauseSeconds, kPauseFactor * took);
  return newest_;
}

}  // namespace retort::orchestrator
