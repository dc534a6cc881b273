#include "orchestrator/cli/render/status_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/reasons.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/reactor/attempt_failure.h"
#include "orchestrator/results/devices.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {

std::string FormatSweepEstimate(const SweepEstimate& estimate) {
  const Interval& time = estimate.seconds;
  const Interval& hours = estimate.device_hours;
  const bool sure = time.low == time.high && hours.low == hours.high;
  std::string text = fmt::format("about {} on {} {}", FormatDuration(time.mean), estimate.slots,
                                 estimate.slots == 1 ? "slot" : "slots");
  if (!sure)
    text += fmt::format(" ({} to {} nine times out of ten)", FormatDuration(time.low), FormatDuration(time.high));
  text += fmt::format(", {:.2g} device-hours", hours.mean);
  if (!sure) text += fmt::format(" ({:.2g} to {:.2g})", hours.low, hours.high);
  if (estimate.disk_bytes && *estimate.disk_bytes > 0) text += ", disk about " + FormatBytes(*estimate.disk_bytes);
  if (estimate.from_running) text += "; judged by trials that have not ended yet";
  if (estimate.as_if_alone) text += "; as if no trials shared a device, which makes it shorter where it gains";
  return text;
}

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShownProblems = 7;
constexpr std::size_t kShownTrials = 20;  // that run, and that wait for a retry

// The first kShownTrials of many lines, and how many more there are.
class FirstLines {
 public:
  // Whether one more is to be made.
  [[nodiscard]] bool Takes() { return ++count_ <= kShownTrials; }
  void Add(const std::string& line) { text_ += line; }
  [[nodiscard]] std::string Text(const char* what, const std::string& directory) const {
    if (count_ <= kShownTrials) return text_;
    return text_ + fmt::format("  and {} more that {} (`{}` shows all)\n", count_ - kShownTrials, what,
                               AddResultsOption("retort list", directory));
  }

 private:
  std::size_t count_ = 0;
  std::string text_;
};

// Where the trials run, by trial.
std::map<TrialId, std::string> FindPlaces(const std::vector<DeviceView>& devices) {
  std::map<TrialId, std::string> places;
  for (const DeviceView& device : devices) {
    for (const TrialView* trial : device.trials) {
      std::string& text = places[trial->spec.id];
      text += (text.empty() ? "on " : ", ") + FormatDevicePlace(device);
    }
  }
  return places;
}

std::string ActiveText(const SweepStatus& status, double now) {
  FirstLines running, waiting;
  const std::map<TrialId, std::string> places = FindPlaces(status.devices);
  std::unordered_map<TrialId, const TrialSpec*> specs;
  for (const TrialView& trial : status.view->trials) {
    specs.emplace(trial.spec.id, &trial.spec);
    if (trial.state == TrialState::running || trial.state == TrialState::leased) {
      if (!running.Takes()) continue;
      std::string line = fmt::format("  {}  {}", FormatTrialName(trial.spec), GetStateName(trial.state));
      const auto teacher = trial.spec.parent ? specs.find(*trial.spec.parent) : specs.end();
      const std::string progress =
          FormatProgress(trial, teacher == specs.end() ? nullptr : teacher->second, now, status.costs);
      if (!progress.empty()) line += ", " + progress;
      if (const auto place = places.find(trial.spec.id); place != places.end()) line += ", " + place->second;
      running.Add(line + fmt::format(", attempt {}\n", trial.attempts));
    } else if (!IsFinal(trial.state) && !IsRetryDue(trial.retry_at, now) && waiting.Takes()) {
      waiting.Add(
          fmt::format("  {}  tried again in {}\n", FormatTrialName(trial.spec), FormatDuration(trial.retry_at - now)));
    }
  }
  const std::string& directory = status.view->directory;
  return running.Text("run", directory) + waiting.Text("wait for another attempt", directory);
}

std::string SpendingText(const SweepStatus& status, std::size_t width) {
  std::string out;
  for (const DataSpending& spent : status.spending) out += "  " + Wrap(FormatSpendingLine(spent), width - 2, 4) + "\n";
  return out;
}

std::string BoundText(double epsilon) {
  return std::string(std::isfinite(epsilon) ? "≤ " : "= ") + FormatEpsilon(epsilon);
}

// Why a total has no bound, as the end of a sentence.
std::string UnboundedText(const std::string& reason) {
  std::string text(privacy::DescribeReason(reason));
  while (text.ends_with('.')) text.pop_back();
  return fmt::format("; no bound holds ({}): {}", reason, text);
}

std::string ProblemsText(const SweepStatus& status, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < std::min(status.problems.size(), kShownProblems); ++i) {
    const Problem& problem = status.problems[i];
    out += "  " + Wrap(fmt::format("{}. {}", i + 1, problem.what), width - 2, 5) + "\n";
    if (!problem.remedy.empty()) out += "     " + problem.remedy + "\n";
  }
  if (status.problems.size() > kShownProblems)
    out += fmt::format("  and {} more (--json lists all)\n", status.problems.size() - kShownProblems);
  return out;
}

std::string TimeLeftText(const std::optional<SweepEstimate>& left) {
  if (!left) return "Time left: unknown until a trial of each kind has run for half a minute, or has finished\n";
  return "Time left: " + FormatSweepEstimate(*left) + "\n";
}

ordered_json IntervalJson(const Interval& interval) {
  return {{"mean", interval.mean}, {"low", interval.low}, {"high", interval.high}};
}

void AddEstimate(const std::optional<SweepEstimate>& left, ordered_json& document) {
  document["eta_seconds"] = left ? IntervalJson(left->seconds) : ordered_json();
  document["device_hours_left"] = left ? IntervalJson(left->device_hours) : ordered_json();
  document["disk_bytes_left"] = left && left->disk_bytes ? ordered_json(*left->disk_bytes) : ordered_json();
  document["slots"] = left ? ordered_json(left->slots) : ordered_json();
}

std::string BodyText(const SweepStatus& status, double clock, std::size_t width) {
  const ResultsView& view = *status.view;
  const double now_unix_seconds = ChooseNow(view, clock);
  if (view.sweep.empty() && status.trials == 0)
    return fmt::format("No sweep is recorded in {}: its journal.log is empty\n", view.directory) +
           (status.problems.empty() ? "" : "Problems\n" + ProblemsText(status, width));
  std::string out = fmt::format("Sweep {} in {}: {}\n", view.sweep, view.directory,
                                view.running      ? "running"
                                : status.finished ? "finished"
                                                  : "stopped");
  if (!status.problems.empty()) out += "Problems\n" + ProblemsText(status, width);
  out += fmt::format("Trials: {}", status.trials);
  for (const auto& [state, count] : status.counts) out += fmt::format(", {} {}", count, state);
  out += "\n" + ActiveText(status, now_unix_seconds);
  if (status.search)
    out +=
        Wrap(DescribeStanding(*status.search) + " " + DescribeSearchCost(status.search->terms.score), width, 2) + "\n";
  if (!status.devices.empty()) out += "Devices: " + DescribeDevices(status.devices) + "\n";
  if (view.requests > 0) out += fmt::format("Requests: {} to cancel or retry, not answered yet\n", view.requests);
  if (const std::optional<double> age = ComputeStaleness(view, now_unix_seconds))
    out += fmt::format("The run has written nothing for {}: all this is as old\n", FormatDuration(*age));
  for (const std::string& measured : view.packed) out += "Sharing a device: " + measured + "\n";
  if (!status.spending.empty()) out += "Privacy spent\n" + SpendingText(status, width);
  if (!status.finished) out += TimeLeftText(status.remaining);
  return out;
}

}  // namespace

std::string FormatSpendingLine(const DataSpending& spent) {
  std::string line = fmt::format("{}: ε {} (example, its place filled or empty, δ = {}) over {} {}, composed together",
                                 spent.data, BoundText(spent.epsilon), FormatShortNumber(spent.delta), spent.trials,
                                 spent.trials == 1 ? "trial" : "trials");
  if (!spent.reason.empty()) line += UnboundedText(spent.reason);
  if (!spent.root_trouble.empty())
    line += fmt::format("; over all sweeps in {}: unknown, {}", spent.root, spent.root_trouble);
  else if (spent.other_sweeps > 0)
    line += fmt::format("; with {} other {} in {}: ε {}", spent.other_sweeps,
                        spent.other_sweeps == 1 ? "sweep" : "sweeps", spent.root, BoundText(spent.root_epsilon));
  if (spent.other_sweeps > 0 && spent.root_trouble.empty() && !spent.root_reason.empty() && spent.reason.empty())
    line += UnboundedText(spent.root_reason);
  if (spent.budget) line += fmt::format("; budget {}", FormatEpsilon(spent.budget->epsilon));
  if (!spent.budget_of.empty()) line += fmt::format(" (of {})", spent.budget_of);
  if (!spent.assumptions.empty()) line += fmt::format("; assumes {}", fmt::join(spent.assumptions, ", "));
  return line;
}

ordered_json MakeSpendingJson(const DataSpending& spent) {
  const auto number = [](double epsilon) {
    return std::isfinite(epsilon) ? ordered_json(epsilon) : ordered_json("inf");
  };
  ordered_json entry;
  entry["digest"] = spent.digest;
  entry["adjacency"] = "example";
  entry["delta"] = spent.delta;
  entry["epsilon"] = number(spent.epsilon);
  entry["reason"] = spent.reason.empty() ? ordered_json() : ordered_json(spent.reason);
  entry["assumptions"] = spent.assumptions;
  entry["accountant"] = "composed";
  entry["trials"] = spent.trials;
  entry["budget"] =
      spent.budget ? ordered_json{{"epsilon", spent.budget->epsilon}, {"delta", spent.budget->delta}} : ordered_json();
  entry["root"] =
      spent.root.empty()
          ? ordered_json()
          : ordered_json{{"directory", spent.root},
                         {"epsilon", number(spent.root_epsilon)},
                         {"reason", spent.root_reason.empty() ? ordered_json() : ordered_json(spent.root_reason)},
                         {"other_sweeps", spent.other_sweeps},
                         {"trouble", spent.root_trouble}};
  return entry;
}

std::string FormatEnding(const SweepStatus& status) {
  const ResultsView& view = *status.view;
  const auto count = [&status](TrialState state) {
    const auto found = std::find_if(status.counts.begin(), status.counts.end(),
                                    [state](const auto& entry) { return entry.first == GetStateName(state); });
    return found == status.counts.end() ? 0 : found->second;
  };
  std::string text = fmt::format("sweep {} has ended: {} of {} trials succeeded", view.sweep,
                                 count(TrialState::succeeded), status.trials);
  if (const int failed = count(TrialState::failed); failed > 0) text += fmt::format(", {} failed", failed);
  if (const int not_run = count(TrialState::parent_failed); not_run > 0)
    text += fmt::format(", {} not run because their teacher failed", not_run);
  if (const int cancelled = count(TrialState::cancelled); cancelled > 0)
    text += fmt::format(", {} cancelled", cancelled);
  return text + "; results in " + view.directory;
}

std::string FormatFinalStatusText(const SweepStatus& status, double clock, std::size_t width) {
  return BodyText(status, clock, width) + FormatEnding(status) + "\nNext: " + status.next + "\n";
}

std::string FormatStatusText(const SweepStatus& status, double clock, std::size_t width) {
  return BodyText(status, clock, width) + "Next: " + status.next + "\n";
}

std::string FormatStatusJson(const SweepStatus& status) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["sweep"] = status.view->sweep;
  document["results"] = status.view->directory;
  document["running"] = status.view->running;
  document["finished"] = status.finished;
  document["counts"] = ordered_json::object();
  for (const auto& [state, count] : status.counts) document["counts"][state] = count;
  AddEstimate(status.remaining, document);
  if (status.search) document["search"] = SearchJson(*status.search);
  document["epsilon"] = ordered_json::object();
  for (const DataSpending& spent : status.spending) document["epsilon"][spent.data] = MakeSpendingJson(spent);
  document["devices"] = MakeDevicesJson(status.devices);
  document["newest_event"] = status.view->newest_event;
  document["requests"] = status.view->requests;
  document["packing"] = status.view->packed;
  document["problems"] = ordered_json::array();
  for (const Problem& problem : status.problems) {
    ordered_json ids = ordered_json::array();
    for (const TrialId trial : problem.trials) ids.push_back(trial.Hex());
    document["problems"].push_back({{"what", problem.what}, {"remedy", problem.remedy}, {"trials", std::move(ids)}});
  }
  document["next"] = status.next;
  return FormatDocument(document);
}

namespace {

bool Runs(const TrialView& trial) { return trial.state == TrialState::running || trial.state == TrialState::leased; }

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

RunningTrial MakeRunning(const TrialView& trial) {
  RunningTrial running;
  running.name = trial.spec.name;
  running.phase = trial.state == TrialState::leased || trial.phase.empty() ? "starting" : trial.phase;
  running.step = trial.step;
  running.total_steps = trial.total_steps;
  if (const double step = trial.pace.SecondsPerStep(); step > 0) running.steps_per_second = 1 / step;
  return running;
}

// What ends, or is tried again, first.
std::optional<NamedText> FindNext(const SweepStatus& status, double now) {
  std::unordered_map<TrialId, const TrialSpec*> specs;
  double soonest = std::numeric_limits<double>::infinity();
  std::optional<NamedText> next;
  const auto offer = [&](double seconds, const TrialView& trial, const char* what) {
    if (seconds >= soonest) return;
    soonest = seconds;
    next = FormatNextEvent(seconds, trial.spec.name, what);
  };
  for (const TrialView& trial : status.view->trials) {
    specs.emplace(trial.spec.id, &trial.spec);
    const auto teacher = trial.spec.parent ? specs.find(*trial.spec.parent) : specs.end();
    if (Runs(trial)) {
      const PendingTrial pending = MakePendingTrial(trial, teacher == specs.end() ? nullptr : teacher->second, now);
      if (const auto left = EstimateSecondsLeft(status.costs, pending)) offer(*left, trial, "ends");
    } else if (!IsFinal(trial.state) && !IsRetryDue(trial.retry_at, now)) {
      offer(trial.retry_at - now, trial, "is tried again");
    }
  }
  return next;
}

void AddNotices(const ResultsView& view, double now, std::vector<NamedText>& problems) {
  if (const std::optional<double> age = ComputeStaleness(view, now))
    problems.push_back({fmt::format("the run has written nothing for {}", FormatDuration(*age)), "", ""});
  if (view.requests > 0)
    problems.push_back({fmt::format("{} requests to cancel or retry are not answered yet", view.requests), "", ""});
}

}  // namespace

BlockContent MakeBlock(const SweepStatus& status, double clock) {
  const ResultsView& view = *status.view;
  const double now = ChooseNow(view, clock);
  BlockContent content;
  for (const Problem& problem : status.problems) content.problems.push_back({problem.what, "", ""});
  AddNotices(view, now, content.problems);
  for (const TrialView& trial : view.trials) {
    Count(trial, content.tally);
    if (Runs(trial)) content.running.push_back(MakeRunning(trial));
  }
  if (status.remaining) content.left = status.remaining->seconds;
  content.spent = status.spending;
  content.next = FindNext(status, now);
  return content;
}

}  // namespace retort::orchestrator::cli
