#include "orchestrator/screen/progress_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/base/number_text.h"
#include "orchestrator/agent/worker_port.h"
#include "orchestrator/core/inventory.h"
#include "orchestrator/reactor/attempt_failure.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kFailuresNamed = 5;

std::string FormatActivity(const Core& core, const ActiveAttempt& attempt) {
  const std::string& name = core.Get(attempt.id.trial).spec.name;
  if (!attempt.started) return name + " starting";
  if (attempt.total_steps <= 0) return fmt::format("{} {}", name, attempt.phase);
  return fmt::format("{} {} {}/{}", name, attempt.phase, attempt.step, attempt.total_steps);
}

std::string FormatFirstMetric(const AttemptEnded& ended) {
  for (const auto& [name, value] : ended.metrics)
    if (name == "test.accuracy") return fmt::format(", test accuracy {:.2f} %", 100 * value);
  return "";
}

std::string FormatAttemptEnded(const Core& core, const AttemptEnded& ended) {
  const Trial& trial = core.Get(ended.attempt.trial);
  if (ended.succeeded) return fmt::format("{}: done{}", trial.spec.name, FormatFirstMetric(ended));
  if (ended.failure == FailureKind::stopped) return "";
  const std::string what = fmt::format("{}: attempt {} ended: {}: {}", trial.spec.name, ended.attempt.number,
                                       GetFailureName(ended.failure), ended.detail);
  return what + (ended.for_good ? "; not tried again" : "; it will be tried again");
}

void AppendCount(std::string& text, std::size_t count, const char* what) {
  if (count > 0) text += fmt::format(", {} {}", count, what);
}

std::string FormatTimeLeft(const Interval& seconds) {
  std::string text = fmt::format(", about {} left", FormatPaddedDuration(seconds.mean));
  if (seconds.low != seconds.high)
    text += fmt::format(" ({} to {})", FormatPaddedDuration(seconds.low), FormatPaddedDuration(seconds.high));
  return text;
}

}  // namespace

std::size_t CountEnded(const Core& core) {
  return core.CountIn(TrialState::succeeded) + core.CountIn(TrialState::failed) +
         core.CountIn(TrialState::parent_failed) + core.CountIn(TrialState::cancelled);
}

std::string FormatProgressLine(const Core& core, const std::optional<SweepEstimate>& left) {
  std::string line = fmt::format("{} of {} trials done", CountEnded(core), core.plan().size());
  AppendCount(line, core.CountIn(TrialState::failed) + core.CountIn(TrialState::parent_failed), "of them failed");
  AppendCount(line, core.CountIn(TrialState::running) + core.CountIn(TrialState::leased), "running");
  AppendCount(line, core.CountIn(TrialState::queued), "queued");
  AppendCount(line, core.CountIn(TrialState::waiting), "waiting");
  if (core.stop) line += ", stopping";
  if (left && !core.stop) line += FormatTimeLeft(left->seconds);
  const char* separator = ": ";
  for (const auto& [trial, attempt] : core.fleet.active()) {
    line += separator + FormatActivity(core, attempt);
    separator = "; ";
  }
  return line;
}

std::string FormatEventLine(const Core& core, const Event& event) {
  if (const auto* ended = std::get_if<AttemptEnded>(&event)) return FormatAttemptEnded(core, *ended);
  const auto* row = std::get_if<RowWritten>(&event);
  if (row != nullptr && row->row.state == "parent-failed")
    return row->row.name + ": not run, its teacher did not succeed";
  if (row != nullptr && row->row.state == "cancelled") return row->row.name + ": cancelled";
  if (const auto* reopened = std::get_if<TrialReopened>(&event))
    return core.Get(reopened->trial).spec.name + ": tried again, as asked";
  if (const auto* drained = std::get_if<SlotDrained>(&event)) return FormatSlotDrained(core, *drained);
  if (const auto* restored = std::get_if<SlotRestored>(&event)) return FormatSlotRestored(core, *restored);
  if (const auto* measured = std::get_if<PackingMeasured>(&event)) return FormatPackingMeasured(*measured);
  return "";
}

std::string RemoveWorkerOutput(const std::string& detail) {
  const std::size_t begin = detail.find(kWorkerOutputIntro);
  if (begin == std::string::npos) return detail;
  const std::size_t end = std::min(detail.rfind(kFailedOnSlot), detail.size());
  return detail.substr(0, begin) + (end > begin ? detail.substr(end) : "");
}

std::vector<std::string> FormatSweepSummary(const Core& core, double seconds) {
  std::vector<std::string> lines;
  const std::size_t succeeded = core.CountIn(TrialState::succeeded);
  std::string head = fmt::format("sweep {}: {} of {} trials succeeded", core.sweep(), succeeded, core.plan().size());
  AppendCount(head, core.CountIn(TrialState::failed), "failed");
  AppendCount(head, core.CountIn(TrialState::parent_failed), "not run because their teacher failed");
  AppendCount(head, core.CountIn(TrialState::cancelled), "cancelled");
  const std::size_t left = core.plan().size() - CountEnded(core);
  AppendCount(head, left, "left");
  lines.push_back(head + " (" + FormatPaddedDuration(seconds) + "); results in " + core.settings().results);
  std::size_t named = 0;
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (trial.state != TrialState::failed) continue;
    if (++named > kFailuresNamed) continue;
    lines.push_back(fmt::format("  {} failed: {}: {}", trial.spec.name, GetFailureName(trial.failure),
                                RemoveWorkerOutput(trial.detail)));
  }
  if (named > kFailuresNamed) lines.push_back(fmt::format("  and {} more", named - kFailuresNamed));
  if (left > 0 && core.quota_spent && core.stop)
    lines.push_back(core.stop->cause + ": raise [sweep] quota, and the same command continues it");
  else if (left > 0)
    lines.emplace_back("interrupted with its state saved: the same command continues it");
  return lines;
}

std::string FormatEndedAtOnce(const Core& core) {
  return fmt::format(
      "sweep {}: ended at once, {} of {} trials done; the others go on from their last checkpoints; "
      "results in {}",
      core.sweep(), CountEnded(core), core.plan().size(), core.settings().results);
}

}  // namespace retort::orchestrator
