#include "orchestrator/cli/serve/live_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/status_text.h"
#include "orchestrator/cli/render/trial_drawings.h"
#include "orchestrator/core/step_watch.h"
#include "orchestrator/results/devices.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

constexpr int kSilentRun = 88, kNoStep = 84, kUnanswered = 30;  // severities (sweep_status.cc)

bool IsActive(const TrialView& trial) {
  return trial.state == TrialState::running || trial.state == TrialState::leased;
}

// Seconds since the newest step, where that is longer than a run allows; it may be its watchdog that ends the trial.
std::optional<double> FindSilence(const TrialView& trial, double now) {
  if (trial.state != TrialState::running || trial.pace.noted_at() <= 0) return std::nullopt;
  const double age = now - trial.pace.noted_at();
  const double allowed = std::max(kSilenceFloorSeconds, kSilenceFactor * trial.pace.SecondsPerStep());
  return age > allowed ? std::optional(age) : std::nullopt;
}

// Well-formed text that `write` makes.
template <class Write>
LivePart MakePart(std::string key, const Write& write) {
  Html html;
  write(html);
  return {std::move(key), html.Take()};
}

std::string DescribeRunState(const SweepStatus& status) {
  return status.view->running ? "running" : status.finished ? "finished" : "stopped before its end";
}

int CountFinal(const ResultsView& view) {
  return static_cast<int>(
      std::ranges::count_if(view.trials, [](const TrialView& trial) { return IsFinal(trial.state); }));
}

void WriteState(Html& html, const SweepStatus& status) {
  const ResultsView& view = *status.view;
  const int done = CountFinal(view);
  {
    const HtmlScope line(html, "p", {{"class", "state"}});
    html.Element("strong", DescribeRunState(status));
    html.Text(
        fmt::format(": {} of {} {} ended", done, status.trials, status.trials == 1 ? "trial has" : "trials have"));
    for (const auto& [state, count] : status.counts) html.Text(fmt::format(", {} {}", count, state));
    html.Text(".");
  }
  html.Element("progress", fmt::format("{} of {}", done, status.trials),
               {{"max", std::to_string(std::max(status.trials, 1))},
                {"value", std::to_string(done)},
                {"aria-label", "Trials that have ended"}});
}

void WriteFacts(Html& html, const SweepStatus& status) {
  if (!status.finished)
    html.Paragraph(status.remaining ? "Time left: " + FormatSweepEstimate(*status.remaining) + "."
                                    : "Time left: unknown until a trial of each kind has run for half a minute, or "
                                      "has finished.");
  if (!status.devices.empty()) html.Paragraph("Devices: " + DescribeDevices(status.devices) + ".");
  if (!status.next.empty()) html.Paragraph("Next: `" + status.next + "`");
}

void WriteProblems(Html& html, const std::vector<Problem>& problems, const std::string& directory, std::size_t most) {
  html.Element("h2", "Problems", {{"id", "live-problems"}});
  if (problems.empty()) return html.Paragraph("None.");
  {
    const HtmlScope list(html, "ol", {{"class", "problems"}});
    for (std::size_t i = 0; i < std::min(problems.size(), most); ++i) {
      const HtmlScope item(html, "li");
      html.Prose("span", problems[i].what + ".");
      const std::string& remedy = problems[i].remedy;
      if (remedy.empty()) continue;
      html.Void("br", {});
      html.Prose("span", remedy.starts_with("retort ") ? "`" + remedy + "`" : "Remedy: " + remedy + ".",
                 {{"class", "faint"}});
    }
  }
  if (problems.size() > most)
    html.Paragraph(fmt::format("{} more: `{}` lists all.", problems.size() - most,
                               AddResultsOption("retort status --json", directory)));
}

std::string FindKey(const char* kind, const TrialView& trial) { return std::string(kind) + trial.spec.id.Hex(); }

void WriteProgress(Html& html, const TrialView& trial, const std::string& progress) {
  html.Element("h3", FormatTrialName(trial.spec));
  std::string line = trial.state == TrialState::leased || trial.phase.empty() ? std::string("starting") : trial.phase;
  if (!progress.empty()) line += ", " + progress;
  if (const double seconds = trial.pace.SecondsPerStep(); seconds > 0)
    line += fmt::format(", {:.3g} steps/s", 1 / seconds);
  if (trial.attempts > 1) line += fmt::format(", attempt {}", trial.attempts);
  html.Paragraph(line);
  if (trial.total_steps <= 0) return;
  html.Element("progress", fmt::format("step {} of {}", trial.step, trial.total_steps),
               {{"max", std::to_string(trial.total_steps)},
                {"value", std::to_string(std::clamp<std::int64_t>(trial.step, 0, trial.total_steps))},
                {"aria-label", "Steps of " + FormatTrialName(trial.spec)}});
}

// Measures on test examples first, then those of a network ("train.loss"), then times; each by name.
int RankCurve(std::string_view name) {
  return name.starts_with("test.") ? 0 : name.find('.') != std::string_view::npos ? 1 : 2;
}

std::vector<const storage::Curves::value_type*> ChooseCurves(const storage::Curves& curves, std::size_t most) {
  std::vector<const storage::Curves::value_type*> chosen;
  for (const auto& curve : curves) chosen.push_back(&curve);
  std::ranges::stable_sort(chosen, {}, [](const auto* curve) { return RankCurve(curve->first); });
  chosen.resize(std::min(chosen.size(), most));
  return chosen;
}

void WriteCurves(Html& html, const storage::Curves& curves, std::size_t most) {
  const HtmlScope charts(html, "div", {{"class", "charts"}});
  for (const auto* curve : ChooseCurves(curves, most)) WriteCurve(html, curve->first, curve->second);
}

void WriteSpending(Html& html, const std::vector<DataSpending>& spending) {
  html.Element("h2", "Privacy spent", {{"id", "live-privacy"}});
  const HtmlScope list(html, "ul");
  for (const DataSpending& spent : spending) html.Element("li", FormatSpendingLine(spent));
}

// Those that run, each with a line, and the first ones with their curves.
class RunningPart {
 public:
  RunningPart(const SweepStatus& status, const CurveSource& curves, double now, const LiveLimits& limits,
              std::vector<LivePart>& parts)
      : status_(status), curves_(curves), now_(now), limits_(limits), parts_(parts) {}

  void Write() {
    const std::vector<TrialView>& trials = status_.view->trials;
    const auto active = static_cast<std::size_t>(std::ranges::count_if(trials, IsActive));
    parts_.push_back(MakePart("running", [&](Html& html) {
      html.Element("h2", "Running", {{"id", "live-running"}});
      if (active == 0) html.Paragraph("No trial is running.");
    }));
    for (const TrialView& trial : trials) {
      teachers_.emplace(trial.spec.id, &trial.spec);
      if (IsActive(trial) && shown_ < limits_.running) WriteOne(trial);
    }
    if (active > shown_)
      parts_.push_back(MakePart("more-running", [&](Html& html) {
        html.Paragraph(fmt::format("{} more run: `{}` lists them.", active - shown_,
                                   AddResultsOption("retort list --where state=running", status_.view->directory)));
      }));
  }

 private:
  void WriteOne(const TrialView& trial) {
    const auto teacher = trial.spec.parent ? teachers_.find(*trial.spec.parent) : teachers_.end();
    const std::string progress =
        FormatProgress(trial, teacher == teachers_.end() ? nullptr : teacher->second, now_, status_.costs);
    parts_.push_back(MakePart(FindKey("run-", trial), [&](Html& html) { WriteProgress(html, trial, progress); }));
    if (++shown_ > limits_.drawn) return;
    const storage::Curves curves = curves_(trial);
    if (!curves.empty())
      parts_.push_back(
          MakePart(FindKey("curves-", trial), [&](Html& html) { WriteCurves(html, curves, limits_.curves); }));
  }

  const SweepStatus& status_;
  const CurveSource& curves_;
  double now_;
  const LiveLimits& limits_;
  std::vector<LivePart>& parts_;
  std::unordered_map<TrialId, const TrialSpec*> teachers_;
  std::size_t shown_ = 0;
};

nlohmann::ordered_json MakeSummary(const SweepStatus& status, std::size_t problems) {
  nlohmann::ordered_json summary;
  summary["sweep"] = status.view->sweep;
  summary["running"] = status.view->running;
  summary["finished"] = status.finished;
  summary["trials"] = status.trials;
  summary["counts"] = nlohmann::ordered_json::object();
  for (const auto& [state, count] : status.counts) summary["counts"][state] = count;
  summary["problems"] = problems;
  summary["next"] = status.next;
  return summary;
}

}  // namespace

std::vector<Problem> ListLiveProblems(const SweepStatus& status, double clock) {
  const ResultsView& view = *status.view;
  const double now = ChooseNow(view, clock);
  std::vector<Problem> problems = status.problems;
  if (const std::optional<double> age = ComputeStaleness(view, now))
    problems.push_back({kSilentRun,
                        fmt::format("the run has written nothing for {}: all this is as old", FormatDuration(*age)),
                        "look at the host that runs it",
                        {}});
  for (const TrialView& trial : view.trials)
    if (const std::optional<double> age = view.running ? FindSilence(trial, now) : std::nullopt)
      problems.push_back({kNoStep,
                          fmt::format("{} has made no step for {} (step {} of {})", FormatTrialName(trial.spec),
                                      FormatDuration(*age), trial.step, trial.total_steps),
                          AddResultsOption(FormatTrialCommand("explain", trial.spec), view.directory),
                          {trial.spec.id}});
  if (view.requests > 0)
    problems.push_back({kUnanswered,
                        fmt::format("{} {} to cancel or retry not answered yet", view.requests,
                                    view.requests == 1 ? "request is" : "requests are"),
                        "",
                        {}});
  std::ranges::stable_sort(problems, [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
  return problems;
}

LiveState MakeLiveState(const SweepStatus& status, const CurveSource& curves, double clock, const LiveLimits& limits) {
  LiveState state;
  const std::vector<Problem> problems = ListLiveProblems(status, clock);
  state.parts.push_back(MakePart("state", [&](Html& html) { WriteState(html, status); }));
  state.parts.push_back(MakePart(
      "problems", [&](Html& html) { WriteProblems(html, problems, status.view->directory, limits.problems); }));
  state.parts.push_back(MakePart("facts", [&](Html& html) { WriteFacts(html, status); }));
  RunningPart(status, curves, ChooseNow(*status.view, clock), limits, state.parts).Write();
  if (!status.spending.empty())
    state.parts.push_back(MakePart("privacy", [&](Html& html) { WriteSpending(html, status.spending); }));
  state.summary = MakeSummary(status, problems.size());
  state.status = FormatStatusJson(status);
  return state;
}

LiveState MakeUnreadableState(const std::string& directory, const std::string& why) {
  LiveState state;
  state.parts.push_back(MakePart("problems", [&](Html& html) {
    html.Element("h2", "Problems", {{"id", "live-problems"}});
    html.Element("p", directory + " cannot be read: " + why, {{"class", "alert"}, {"role", "alert"}});
  }));
  state.summary = {{"running", false}, {"finished", false}, {"unreadable", why}};
  state.status = FormatDocument({{"schema_version", kSchemaVersion}, {"results", directory}, {"unreadable", why}});
  return state;
}

}  // namespace retort::orchestrator::cli
