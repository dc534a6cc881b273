// All trials in a table, and some of them with everything that they left.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "orchestrator/cli/html_table.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cli/shell_text.h"
#include "orchestrator/cli/trial_html.h"
#include "orchestrator/cli/trial_json.h"
#include "orchestrator/cli/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

using Chosen = std::vector<const TrialView*>;

std::optional<double> Find(const std::vector<std::pair<std::string, double>>& values,
                           const std::string& name) {
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

HtmlCell TookOf(const TrialView& trial) {
  if (!trial.row) return {"–"};
  const std::optional<double> seconds = Find(trial.row->timings, "seconds");
  return seconds ? NumberCell(DurationText(*seconds), *seconds) : HtmlCell{"–"};
}

HtmlLine LineOf(const TrialView& trial, const std::string& metric, bool linked) {
  HtmlCell name{ShownName(trial.spec)};
  name.header = true;
  if (linked) name.href = "#" + TrialAnchor(trial);
  const auto value = trial.row ? Find(trial.row->metrics, metric) : std::nullopt;
  HtmlCell measured = value ? NumberCell(MetricText(metric, *value), *value) : HtmlCell{"–"};
  const std::string failure = FailureWord(trial);
  return {name,
          {trial.spec.data ? trial.spec.data->name : "–"},
          {std::to_string(trial.spec.seed), std::to_string(trial.spec.seed)},
          {std::string(StateName(trial.state))},
          {std::to_string(trial.attempts), std::to_string(trial.attempts)},
          measured,
          TookOf(trial),
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
    table.groups.push_back({LineOf(trial, metric, linked.contains(&trial))});
  return table;
}

void WriteLeftOut(Html& html, const ReportSources& sources, std::size_t detailed) {
  const auto ended =
      static_cast<std::size_t>(std::count_if(sources.view.trials.begin(), sources.view.trials.end(),
                                             [](const TrialView& trial) { return trial.row.has_value(); }));
  const std::string results = " --results " + ShellText(sources.view.directory);
  if (detailed < ended)
    html.Prose(
        "p",
        fmt::format("{} of the {} trials that have ended, those without a link above, have no part of "
                    "their own, which keeps the page small: `retort show TRIAL{}` prints claims, ledger "
                    "and files of one, `retort export TRIAL curves|samples --format csv|png --out PATH{}` "
                    "what it recorded.",
                    ended - detailed, ended, results, results),
        {{"id", "left-out"}});
}

}  // namespace

std::size_t WriteTrials(Html& html, const ReportSources& sources, std::size_t& picture_bytes,
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
    WriteTrial(html, sources, *trial, ledger[trial->spec.id], picture_bytes, troubles);
  return detailed.size();
}

}  // namespace retort::orchestrator::cli
