#include "orchestrator/cli/render/report_trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "experiments/base/json.h"
#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/trial_html.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/core/cost_model.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/tables/statistics.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {

// All trials in a table, and some of them with everything that they left.
namespace {

using Chosen = std::vector<const TrialView*>;

std::optional<double> Find(const std::vector<std::pair<std::string, double>>& values, const std::string& name) {
  for (const auto& [known, value] : values)
    if (known == name) return value;
  return std::nullopt;
}

// Those that have ended, of each seed before another of the next, as long as the limits allow; in plan order.
Chosen ChooseDetailed(const ReportSources& sources) {
  Chosen ended;
  for (const TrialView& trial : sources.view.trials)
    if (trial.row) ended.push_back(&trial);
  Chosen by_seed = ended;
  std::stable_sort(by_seed.begin(), by_seed.end(),
                   [](const TrialView* a, const TrialView* b) { return a->spec.seed < b->spec.seed; });
  std::unordered_set<const TrialView*> kept;
  Chosen so_far;
  for (const TrialView* trial : by_seed) {
    if (so_far.size() == sources.limits.detailed) break;
    so_far.push_back(trial);
    if (sources.attempts.Affords(so_far))
      kept.insert(trial);
    else
      so_far.pop_back();
  }
  Chosen chosen;
  std::copy_if(ended.begin(), ended.end(), std::back_inserter(chosen),
               [&kept](const TrialView* trial) { return kept.contains(trial); });
  return chosen;
}

HtmlCell FormatTook(const TrialView& trial) {
  if (!trial.row) return {"–"};
  const std::optional<double> seconds = Find(trial.row->timings, "seconds");
  return seconds ? MakeNumberCell(FormatDuration(*seconds), *seconds) : HtmlCell{"–"};
}

HtmlLine MakeLine(const TrialView& trial, const std::string& metric, bool linked) {
  HtmlCell name{FormatTrialName(trial.spec)};
  name.header = true;
  if (linked) name.href = "#" + FormatTrialAnchor(trial);
  const auto value = trial.row ? Find(trial.row->metrics, metric) : std::nullopt;
  HtmlCell measured = value ? MakeNumberCell(FormatMetric(*value, metric), *value) : HtmlCell{"–"};
  const std::string failure = FindFailureWord(trial);
  return {name,
          {trial.spec.data ? trial.spec.data->name : "–"},
          {std::to_string(trial.spec.seed), std::to_string(trial.spec.seed)},
          {std::string(GetStateName(trial.state))},
          {std::to_string(trial.attempts), std::to_string(trial.attempts)},
          measured,
          FormatTook(trial),
          {failure.empty() ? "–" : failure}};
}

HtmlTable AllTrials(const ReportSources& sources, const Chosen& detailed) {
  const std::string metric = sources.tables.empty() ? "test.accuracy" : sources.tables.front().spec.metric;
  const std::unordered_set<const TrialView*> linked(detailed.begin(), detailed.end());
  HtmlTable table;
  table.caption = fmt::format("All {} trials", sources.view.trials.size());
  table.columns = {{"trial", HtmlSort::text},
                   {"data", HtmlSort::text},
                   {"seed", HtmlSort::number, true},
                   {"state", HtmlSort::text},
                   {"attempts", HtmlSort::number, true},
                   {metric, HtmlSort::number, true},
                   {"took", HtmlSort::number, true},
                   {"failure", HtmlSort::text}};
  for (const TrialView& trial : sources.view.trials)
    table.groups.push_back({MakeLine(trial, metric, linked.contains(&trial))});
  return table;
}

void WriteLeftOut(Html& html, const ReportSources& sources, std::size_t detailed) {
  const auto ended =
      static_cast<std::size_t>(std::count_if(sources.view.trials.begin(), sources.view.trials.end(),
                                             [](const TrialView& trial) { return trial.row.has_value(); }));
  const std::string results = " --results " + QuoteForShell(sources.view.directory);
  if (detailed < ended)
    html.Prose("p",
               fmt::format("{} of the {} trials that have ended, those without a link above, have no part of "
                           "their own, which keeps the page small: `retort show TRIAL{}` prints claims, ledger "
                           "and files of one, `retort export TRIAL curves|samples --format csv|png --out PATH{}` "
                           "what it recorded.",
                           ended - detailed, ended, results, results),
               {{"id", "left-out"}});
}

}  // namespace

std::size_t WriteTrials(Html& html, const ReportSources& sources, std::size_t& drawn_bytes,
                        std::vector<std::string>& troubles) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "trials"}});
  html.Element("h2", "Trials", {{"id", "trials"}});
  if (sources.view.trials.empty()) return 0;
  const Chosen detailed = ChooseDetailed(sources);
  WriteTable(html, AllTrials(sources, detailed));
  WriteLeftOut(html, sources, detailed.size());
  std::unordered_map<TrialId, std::vector<const storage::LedgerEntry*>> ledger;
  for (const storage::LedgerEntry& entry : sources.view.ledger) ledger[entry.attempt.trial].push_back(&entry);
  for (const TrialView* trial : detailed)
    WriteTrial(html, sources, *trial, ledger[trial->spec.id], drawn_bytes, troubles);
  return detailed.size();
}

// What went wrong, worst first, with the command that says more, and the trials that have no result.
namespace {

constexpr std::size_t kProblems = 40;
constexpr std::size_t kTrials = 200, kOfOneCause = 40;  // that the table has lines for
constexpr std::size_t kDetailColumns = 300;             // `retort explain` has the whole

bool HasFailed(const TrialView& trial) {
  return !FindFailureWord(trial).empty() || (IsFinal(trial.state) && trial.state != TrialState::succeeded);
}

TrialGroup FailedTrials(const ResultsView& view) {
  TrialGroup failed;
  for (const TrialView& trial : view.trials)
    if (HasFailed(trial)) failed.push_back(&trial);
  return failed;
}

// The first `most` of trials that have their cause in common: it stands once.
HtmlGroup MakeLines(const TrialGroup& group, std::size_t most) {
  const std::size_t count = std::min(group.size(), most);
  HtmlGroup lines;
  for (std::size_t i = 0; i < count; ++i) {
    const TrialView& trial = *group[i];
    HtmlCell name{FormatTrialName(trial.spec)};
    name.header = true;
    lines.push_back({name,
                     {std::string(GetStateName(trial.state))},
                     {std::to_string(trial.attempts), std::to_string(trial.attempts)}});
  }
  const std::string failure = FindFailureWord(*group.front());
  HtmlCell word{failure.empty() ? "–" : failure};
  HtmlCell detail{group.front()->detail.empty() ? "–" : CutEnd(MakeOneLine(group.front()->detail), kDetailColumns)};
  detail.css_class = "words";
  word.lines = detail.lines = count;
  lines.front().push_back(word);
  lines.front().push_back(detail);
  return lines;
}

// Returns how many trials it has. A cause that many share leaves room for the others.
std::size_t FillTable(const std::vector<TrialGroup>& groups, HtmlTable& table) {
  std::size_t shown = 0;
  for (const TrialGroup& group : groups) {
    if (shown == kTrials) break;
    table.groups.push_back(MakeLines(group, std::min(kOfOneCause, kTrials - shown)));
    shown += table.groups.back().size();
  }
  return shown;
}

// One for each state that occurs.
std::string ListCommands(const TrialGroup& trials, const std::string& directory) {
  std::set<std::string_view> states;
  for (const TrialView* trial : trials) states.insert(GetStateName(trial->state));
  std::string commands;
  for (const std::string_view state : states)
    commands += (commands.empty() ? "`" : ", `") +
                AddResultsOption("retort list --where state=" + std::string(state), directory) + "`";
  return commands;
}

void WriteFailedTrials(Html& html, const ResultsView& view) {
  const TrialGroup failed = FailedTrials(view);
  if (failed.empty()) return;
  HtmlTable table;
  table.caption = "Trials that failed, were refuted, or were left out";
  table.columns = {{"trial", HtmlSort::text},
                   {"state", HtmlSort::text},
                   {"attempts", HtmlSort::number, true},
                   {"failure", HtmlSort::text},
                   {"detail"}};
  const std::vector<TrialGroup> groups = GroupFailures(failed);
  const std::size_t shown = FillTable(groups, table);
  WriteTable(html, table);
  if (shown < failed.size())
    html.Paragraph(CountText(static_cast<std::int64_t>(failed.size() - shown)) +
                   " more: " + ListCommands(failed, view.directory) + " lists all.");
}

void WriteProblems(Html& html, const std::vector<Problem>& problems) {
  const HtmlScope list(html, "ul");
  for (std::size_t i = 0; i < std::min(problems.size(), kProblems); ++i) {
    const std::string& remedy = problems[i].remedy;
    const bool command = remedy.starts_with("retort ");
    html.Prose("li", problems[i].what + "." +
                         (remedy.empty() ? ""
                          : command      ? " `" + remedy + "`"
                                         : " Remedy: " + remedy + "."));
  }
}

}  // namespace

void WriteFailures(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "failures"}});
  html.Element("h2", "Failures", {{"id", "failures"}});
  const std::vector<Problem>& problems = sources.status.problems;
  if (problems.empty() && FailedTrials(sources.view).empty()) return html.Paragraph("None.");
  WriteProblems(html, problems);
  if (problems.size() > kProblems)
    html.Paragraph(std::to_string(problems.size() - kProblems) + " more: `" +
                   AddResultsOption("retort status --json", sources.view.directory) + "` lists all.");
  WriteFailedTrials(html, sources.view);
}

// How long it took, on how many devices, and what energy they used where that was measured.
namespace {

constexpr const char* kEnergy = "energy_joules";  // of an attempt, all its devices

// Of trials of one role, method and data set.
struct Times {
  int trials = 0;
  double sum = 0, least = 0, most = 0;  // seconds of wall clock
  double device_seconds = 0;
  double joules = 0;
  int metered = 0;  // trials with energy
};

using Kind = std::tuple<std::string, std::string, std::string>;

double Timing(const storage::ResultRow& row, const std::string& name, double otherwise) {
  for (const auto& [known, value] : row.timings)
    if (known == name) return value;
  return otherwise;
}

void Add(const TrialView& trial, Times& times) {
  const double seconds = Timing(*trial.row, "seconds", -1);
  if (seconds < 0) return;
  times.least = times.trials == 0 ? seconds : std::min(times.least, seconds);
  times.most = std::max(times.most, seconds);
  times.sum += seconds;
  ++times.trials;
  times.device_seconds += seconds * trial.spec.devices * Timing(*trial.row, kDeviceShare, 1);
  if (const double joules = Timing(*trial.row, kEnergy, -1); joules >= 0) {
    times.joules += joules * Timing(*trial.row, kDeviceShare, 1);
    ++times.metered;
  }
}

std::map<Kind, Times> CollectTimes(const ResultsView& view) {
  std::map<Kind, Times> all;
  for (const TrialView& trial : view.trials) {
    if (!trial.row) continue;
    Add(trial, all[{trial.spec.role == Role::teacher ? "teacher" : "student", trial.spec.method,
                    trial.spec.data ? trial.spec.data->name : "–"}]);
  }
  return all;
}

HtmlTable TimesTable(const std::map<Kind, Times>& all, bool energy) {
  HtmlTable table;
  table.caption = "Wall clock of the last attempt of each trial that has ended";
  table.columns = {{"role", HtmlSort::text},         {"method", HtmlSort::text},
                   {"data", HtmlSort::text},         {"trials", HtmlSort::number, true},
                   {"mean", HtmlSort::number, true}, {"least", HtmlSort::number, true},
                   {"most", HtmlSort::number, true}, {"device-hours", HtmlSort::number, true}};
  if (energy) table.columns.push_back({"energy", HtmlSort::number, true});
  for (const auto& [kind, times] : all) {
    if (times.trials == 0) continue;
    const double hours = times.device_seconds / 3600;
    const double mean = times.sum / times.trials;
    HtmlLine line = {{std::get<0>(kind)},
                     {std::get<1>(kind)},
                     {std::get<2>(kind)},
                     MakeNumberCell(std::to_string(times.trials), times.trials),
                     MakeNumberCell(FormatDuration(mean), mean),
                     MakeNumberCell(FormatDuration(times.least), times.least),
                     MakeNumberCell(FormatDuration(times.most), times.most),
                     MakeNumberCell(fmt::format("{:.3f}", hours), hours)};
    line[1].header = true;
    if (energy)
      line.push_back(
          times.metered == 0
              ? HtmlCell{"–"}
              : MakeNumberCell(fmt::format("{:.4g} Wh of {}", times.joules / 3600, times.metered), times.joules));
    table.groups.push_back({std::move(line)});
  }
  return table;
}

Times ComputeTotal(const std::map<Kind, Times>& all) {
  Times total;
  for (const auto& [kind, times] : all) {
    total.trials += times.trials;
    total.joules += times.joules;
    total.metered += times.metered;
  }
  return total;
}

std::string EnergyText(const Times& total) {
  if (total.metered == 0) return "Energy: not measured, as no trial had an NVIDIA GPU whose driver tells it.";
  std::string text = fmt::format("Energy: {:.4g} Wh on the devices of {} {}, as NVML counts it", total.joules / 3600,
                                 total.metered, total.metered == 1 ? "trial" : "trials");
  if (const int others = total.trials - total.metered; others > 0)
    text += fmt::format("; of {} {} it was not measured", others, others == 1 ? "other" : "others");
  return text + ".";
}

}  // namespace

void WriteTimings(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "timings"}});
  html.Element("h2", "Timings", {{"id", "timings"}});
  const ResultsView& view = sources.view;
  const double now = view.newest_event;
  html.Paragraph(fmt::format("All runs together took {} of wall clock and {:.3f} device-hours, lost attempts included.",
                             FormatDuration(view.usage.WallSeconds(now, view.running)),
                             view.usage.DeviceSeconds(now, view.running) / 3600));
  const std::map<Kind, Times> all = CollectTimes(view);
  const Times total = ComputeTotal(all);
  html.Paragraph(EnergyText(total));
  if (!all.empty()) WriteTable(html, TimesTable(all, total.metered > 0));
}

// Where the results come from, and the commands that make them, or this page, again.
namespace {

constexpr std::size_t kMachines = 12;

// The provenance of rows as it is stored, with how many rows have it, the most frequent first.
std::vector<std::pair<std::string, int>> Origins(const ResultsView& view) {
  std::map<std::string, int> counts;
  for (const TrialView& trial : view.trials)
    if (trial.row && !trial.row->provenance_json.empty()) ++counts[trial.row->provenance_json];
  std::vector<std::pair<std::string, int>> origins(counts.begin(), counts.end());
  std::stable_sort(origins.begin(), origins.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return origins;
}

void WriteOrigin(Html& html, const std::string& provenance, int trials) {
  const nlohmann::ordered_json json = TryParseOrderedJson(provenance);
  if (!json.is_object()) return html.Paragraph(fmt::format("The provenance of {} trials cannot be read.", trials));
  const HtmlScope details(html, "details");
  const auto text = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string("–");
  };
  html.Element("summary", fmt::format("{} {}: retort {} ({}) on {}, {}", trials, trials == 1 ? "trial" : "trials",
                                      text("version"), text("commit"), text("host"), text("machine")));
  const HtmlScope list(html, "dl", {{"class", "facts"}});
  for (const auto& [key, value] : json.items()) {
    html.Element("dt", key);
    html.Element("dd", value.is_string() ? value.get<std::string>() : DumpJson(value));
    html.Line();
  }
}

HtmlTable DataTable(const SweepPlan& plan) {
  HtmlTable table;
  table.caption = "Data sets";
  table.columns = {{"name", HtmlSort::text},
                   {"reader"},
                   {"private examples", HtmlSort::number, true},
                   {"public", HtmlSort::number, true},
                   {"test", HtmlSort::number, true},
                   {"digest"},
                   {"path"}};
  for (const auto& data : plan.data) {
    HtmlCell name{data->name}, digest{data->digest.empty() ? "–" : data->digest}, path{data->path};
    name.header = true;
    digest.css_class = path.css_class = "words";
    HtmlLine line = {name, {data->reader}};
    for (const std::int64_t count : {data->PrivateExamples(), data->PublicExamples(), data->split.test.size()})
      line.push_back({CountText(count), std::to_string(count)});
    line.push_back(digest);
    line.push_back(path);
    table.groups.push_back({std::move(line)});
  }
  return table;
}

// Loaded teachers, each file once.
std::map<std::string, std::string> ListWeights(const ResultsView& view) {
  std::map<std::string, std::string> weights;  // digest by path
  for (const TrialView& trial : view.trials) {
    const std::string& path = trial.spec.weights.empty() ? trial.spec.torchscript : trial.spec.weights;
    if (!path.empty()) weights[path] = trial.spec.weights_digest;
  }
  return weights;
}

std::string Command(const std::string& words, const ReportSources& sources, const std::string& options = "") {
  return "retort " + words + " " + QuoteForShell(sources.plan.file) + " --results " +
         QuoteForShell(sources.view.directory) + options + "\n";
}

}  // namespace

void WriteProvenance(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "provenance"}});
  html.Element("h2", "Provenance", {{"id", "provenance"}});
  const auto origins = Origins(sources.view);
  for (std::size_t i = 0; i < std::min(origins.size(), kMachines); ++i)
    WriteOrigin(html, origins[i].first, origins[i].second);
  if (origins.size() > kMachines)
    html.Paragraph(fmt::format("{} more versions, hosts or runs are in `provenance_json` of results.h5.",
                               origins.size() - kMachines));
  if (!sources.plan.data.empty()) WriteTable(html, DataTable(sources.plan));
  for (const auto& [path, digest] : ListWeights(sources.view))
    html.Paragraph("Loaded weights: " + path + ", SHA-256 " + (digest.empty() ? "not known" : digest) + ".");
  if (!sources.sweep_toml.empty()) {
    const HtmlScope details(html, "details");
    html.Element("summary", "The sweep file, as resolved");
    html.Element("pre", sources.sweep_toml, {{"tabindex", "0"}});
  }
  html.Element("p", "Page by retort " + FormatVersion() + ".", {{"class", "faint"}});
}

void WriteCommands(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "commands"}});
  html.Element("h2", "Commands", {{"id", "commands"}});
  const std::string results = QuoteForShell(sources.view.directory);
  const bool smoke = sources.plan.profile == "smoke";
  std::string text =
      "# this page\n" + sources.command + "\n# what is not finished, in this folder\n" + Command("run", sources) +
      "# everything again, in another folder\nretort run " + QuoteForShell(sources.plan.file) + " --results " +
      QuoteForShell(sources.view.directory + "-again") + "\n# tables with privacy statements, figures, integrity\n" +
      Command("table", sources, " --statements") + Command("plot", sources) + "retort verify --results " + results +
      "\n";
  html.Paragraph(std::string("The sweep file in the results folder is the resolved one") +
                 (smoke ? ", with the profile smoke laid over it." : ", overrides and profile included."));
  html.Element("pre", text, {{"tabindex", "0"}});
}

}  // namespace retort::orchestrator::cli
