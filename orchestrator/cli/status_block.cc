#include "orchestrator/cli/status_block.h"

#include <fmt/format.h>

#include <limits>
#include <unordered_map>
#include <utility>

#include "orchestrator/cli/devices.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/retry_policy.h"

namespace retort::orchestrator::cli {
namespace {

bool Runs(const TrialView& trial) {
  return trial.state == TrialState::running || trial.state == TrialState::leased;
}

void Count(const TrialView& trial, Tally& tally) {
  ++tally.trials;
  if (IsFinal(trial.state)) ++tally.done;
  if (trial.state == TrialState::failed) ++tally.failed;
  if (trial.state == TrialState::parent_failed) ++tally.not_run;
  if (trial.state == TrialState::cancelled) ++tally.cancelled;
  if (Runs(trial)) ++tally.running;
  if (trial.state == TrialState::queued) ++tally.queued;
  if (trial.state == TrialState::waiting) ++tally.waiting;
}

RunningTrial RunningOf(const TrialView& trial) {
  RunningTrial running;
  running.name = trial.spec.name;
  running.phase = trial.state == TrialState::leased || trial.phase.empty() ? "starting" : trial.phase;
  running.step = trial.step;
  running.total_steps = trial.total_steps;
  if (const double step = trial.pace.SecondsPerStep(); step > 0) running.steps_per_second = 1 / step;
  return running;
}

// What ends, or is tried again, first.
std::optional<NamedText> NextOf(const SweepStatus& status, double now) {
  std::unordered_map<TrialId, const TrialSpec*> specs;
  double soonest = std::numeric_limits<double>::infinity();
  std::optional<NamedText> next;
  const auto offer = [&](double seconds, const TrialView& trial, const char* what) {
    if (seconds >= soonest) return;
    soonest = seconds;
    next = NextText(seconds, trial.spec.name, what);
  };
  for (const TrialView& trial : status.view->trials) {
    specs.emplace(trial.spec.id, &trial.spec);
    const auto teacher = trial.spec.parent ? specs.find(*trial.spec.parent) : specs.end();
    if (Runs(trial)) {
      const PendingTrial pending = PendingOf(trial, teacher == specs.end() ? nullptr : teacher->second, now);
      if (const auto left = SecondsLeft(status.costs, pending)) offer(*left, trial, "ends");
    } else if (!IsFinal(trial.state) && !RetryIsDue(trial.retry_at, now)) {
      offer(trial.retry_at - now, trial, "is tried again");
    }
  }
  return next;
}

void AddNotices(const ResultsView& view, double now, std::vector<NamedText>& problems) {
  if (const std::optional<double> age = Staleness(view, now))
    problems.push_back({fmt::format("the run has written nothing for {}", DurationText(*age)), "", ""});
  if (view.requests > 0)
    problems.push_back({fmt::format("{} requests to cancel or retry are not answered yet", view.requests), "", ""});
}

}  // namespace

BlockContent BlockOf(const SweepStatus& status, double clock) {
  const ResultsView& view = *status.view;
  const double now = NowFor(view, clock);
  BlockContent content;
  for (const Problem& problem : status.problems) content.problems.push_back({problem.what, "", ""});
  AddNotices(view, now, content.problems);
  for (const TrialView& trial : view.trials) {
    Count(trial, content.tally);
    if (Runs(trial)) content.running.push_back(RunningOf(trial));
  }
  if (status.remaining) content.left = status.remaining->seconds;
  content.spent = status.spending;
  content.next = NextOf(status, now);
  return content;
}

}  // namespace retort::orchestrator::cli
