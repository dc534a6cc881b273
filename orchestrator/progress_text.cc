#include "orchestrator/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orchestrator/decision.h"
#include "orchestrator/worker_port.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kFailuresNamed = 5;

std::string Doing(const Core& core, const ActiveAttempt& attempt) {
  const std::string& name = core.Get(attempt.id.trial).spec.name;
  if (!attempt.started) return name + " starting";
  if (attempt.total_steps <= 0) return fmt::format("{} {}", name, attempt.phase);
  return fmt::format("{} {} {}/{}", name, attempt.phase, attempt.step, attempt.total_steps);
}

std::string FirstMetric(const AttemptEnded& ended) {
  for (const auto& [name, value] : ended.metrics)
    if (name == "test.accuracy") return fmt::format(", test accuracy {:.2f} %", 100 * value);
  return "";
}

std::string LineOf(const Core& core, const AttemptEnded& ended) {
  const Trial& trial = core.Get(ended.attempt.trial);
  if (ended.succeeded) return fmt::format("{}: done{}", trial.spec.name, FirstMetric(ended));
  if (ended.failure == FailureKind::stopped) return "";
  const std::string what = fmt::format("{}: attempt {} ended: {}: {}", trial.spec.name, ended.attempt.number,
                                       FailureName(ended.failure), ended.detail);
  return what + (ended.for_good ? "; not tried again" : "; it will be tried again");
}

void AppendCount(std::string& text, std::size_t count, const char* what) {
  if (count > 0) text += fmt::format(", {} {}", count, what);
}

std::string TimeLeft(const Interval& seconds) {
  std::string text = fmt::format(", about {} left", DurationText(seconds.mean));
  if (seconds.low != seconds.high)
    text += fmt::format(" ({} to {})", DurationText(seconds.low), DurationText(seconds.high));
  return text;
}

}  // namespace

std::string DurationText(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

std::size_t CountDone(const Core& core) {
  return core.CountIn(TrialState::succeeded) + core.CountIn(TrialState::failed) +
         core.CountIn(TrialState::parent_failed) + core.CountIn(TrialState::cancelled);
}

std::string ProgressLine(const Core& core, const std::optional<SweepEstimate>& left) {
  std::string line = fmt::format("{} of {} trials done", CountDone(core), core.plan().size());
  AppendCount(line, core.CountIn(TrialState::failed) + core.CountIn(TrialState::parent_failed),
              "of them failed");
  AppendCount(line, core.CountIn(TrialState::running) + core.CountIn(TrialState::leased), "running");
  AppendCount(line, core.CountIn(TrialState::queued), "queued");
  AppendCount(line, core.CountIn(TrialState::waiting), "waiting");
  if (core.stop) line += ", stopping";
  if (left && !core.stop) line += TimeLeft(left->seconds);
  const char* separator = ": ";
  for (const auto& [trial, attempt] : core.fleet.active()) {
    line += separator + Doing(core, attempt);
    separator = "; ";
  }
  return line;
}

std::string DrainedText(const Core& core, const SlotDrained& drained) {
  std::string names;
  for (const TrialId id : drained.trials) {
    const Trial* trial = core.Find(id);
    names += (names.empty() ? "" : ", ") + (trial == nullptr ? id.Hex() : trial->spec.name);
  }
  return fmt::format("slot {} of rank {} ({}) gets no more trials: {} failed there and nowhere else", drained.slot,
                     drained.rank, drained.host, names);
}

std::string RestoredText(const Core& core, const SlotRestored& restored) {
  const Trial* trial = core.Find(restored.trial);
  return fmt::format("slot {} of rank {} ({}) gets trials again: {} failed elsewhere as well", restored.slot, restored.rank,
                     restored.host, trial == nullptr ? restored.trial.Hex() : trial->spec.name);
}

std::string PackedText(const PackingMeasured& measured) {
  const std::string figures = fmt::format("{} at once do {:.4g} steps/s, {} did {:.4g}", measured.width, measured.rate,
                                          measured.than_width, measured.than_rate);
  const std::string where = fmt::format("{} of {}, {}: ", measured.device, measured.host, measured.shape);
  if (measured.kept) return where + figures + ": kept";
  const std::string what =
      measured.cause.empty() ? figures : fmt::format("{} at once: {}", measured.width, measured.cause);
  return where + what + fmt::format(": turned down, at most {} from now on", measured.than_width);
}

std::string EventLine(const Core& core, const Event& event) {
  if (const auto* ended = std::get_if<AttemptEnded>(&event)) return LineOf(core, *ended);
  const auto* row = std::get_if<RowWritten>(&event);
  if (row != nullptr && row->row.state == "parent-failed")
    return row->row.name + ": not run, its teacher did not succeed";
  if (row != nullptr && row->row.state == "cancelled") return row->row.name + ": cancelled";
  if (const auto* reopened = std::get_if<TrialReopened>(&event))
    return core.Get(reopened->trial).spec.name + ": tried again, as asked";
  if (const auto* drained = std::get_if<SlotDrained>(&event)) return DrainedText(core, *drained);
  if (const auto* restored = std::get_if<SlotRestored>(&event)) return RestoredText(core, *restored);
  if (const auto* measured = std::get_if<PackingMeasured>(&event)) return PackedText(*measured);
  return "";
}

std::string WithoutLastWords(const std::string& detail) {
  const std::size_t begin = detail.find(kItWrote);
  if (begin == std::string::npos) return detail;
  const std::size_t end = std::min(detail.rfind(kFailedOnSlot), detail.size());
  return detail.substr(0, begin) + (end > begin ? detail.substr(end) : "");
}

std::vector<std::string> Summary(const Core& core, double seconds) {
  std::vector<std::string> lines;
  const std::size_t succeeded = core.CountIn(TrialState::succeeded);
  std::string head =
      fmt::format("sweep {}: {} of {} trials succeeded", core.sweep(), succeeded, core.plan().size());
  AppendCount(head, core.CountIn(TrialState::failed), "failed");
  AppendCount(head, core.CountIn(TrialState::parent_failed), "not run because their teacher failed");
  AppendCount(head, core.CountIn(TrialState::cancelled), "cancelled");
  const std::size_t left = core.plan().size() - CountDone(core);
  AppendCount(head, left, "left");
  lines.push_back(head + " (" + DurationText(seconds) + "); results in " + core.settings().results);
  std::size_t named = 0;
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (trial.state != TrialState::failed) continue;
    if (++named > kFailuresNamed) continue;
    lines.push_back(fmt::format("  {} failed: {}: {}", trial.spec.name, FailureName(trial.failure),
                                WithoutLastWords(trial.detail)));
  }
  if (named > kFailuresNamed) lines.push_back(fmt::format("  and {} more", named - kFailuresNamed));
  if (left > 0 && core.quota_spent && core.stop)
    lines.push_back(core.stop->cause + ": raise [sweep] quota, and the same command continues it");
  else if (left > 0)
    lines.emplace_back("interrupted with its state saved: the same command continues it");
  return lines;
}

std::string EndedAtOnce(const Core& core) {
  return fmt::format("sweep {}: ended at once, {} of {} trials done; the others go on from their last checkpoints; "
                     "results in {}",
                     core.sweep(), CountDone(core), core.plan().size(), core.settings().results);
}

}  // namespace retort::orchestrator
