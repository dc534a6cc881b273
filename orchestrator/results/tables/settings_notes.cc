#include "orchestrator/results/tables/settings_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/methods/settings_lines.h"
#include "experiments/methods/stated_settings.h"
#include "orchestrator/results/synthetic_store.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

// What values must have in common to be compared.
std::string DescribeMeasurement(const SyntheticResult& result) {
  return fmt::format("that of a fresh {} on {} pictures of seed {}, labels by {}", result.network,
                     CountText(result.count), result.seed, result.labels);
}

// Whether a value of the published table that stands in this one says its delta.
bool StatesDelta(const ResultTable& table) {
  return std::any_of(table.cells.begin(), table.cells.end(),
                     [](const TableCell& cell) { return cell.source && cell.source->delta; });
}

// Notes the delta of trials whose text states it elsewhere alone. Beside a published value its footnote does.
void NoteChosenDelta(const TrialSpec& spec, ResultTable& table) {
  const std::string_view places = FindDeltaPlaces(spec);
  const bool of_paper = spec.data && spec.data->published_as;
  if (!of_paper || places.empty()) return;
  std::string line = "the text of " + spec.method + " states a δ in " + std::string(places) +
                     " alone; δ = " + FormatShortNumber(spec.privacy.delta) + " is chosen here.";
  std::vector<std::string>& lines = table.settings;
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
}

}  // namespace

void AddSettings(const TrialPointers& trials, ResultTable& table) {
  if (table.smoke) return;
  table.settings = DescribeSettings(trials);
  std::map<TrialId, const TrialSpec*> by_id;
  for (const TrialSpec* spec : trials) by_id.emplace(spec->id, spec);
  const bool states_delta = StatesDelta(table);
  for (TableCell& cell : table.cells) {
    const auto found = cell.trials.empty() ? by_id.end() : by_id.find(cell.trials.front());
    if (found == by_id.end()) continue;
    const TrialSpec& spec = *found->second;
    const auto teacher = spec.parent ? by_id.find(*spec.parent) : by_id.end();
    cell.differs = ListDifferences(spec, teacher == by_id.end() ? nullptr : teacher->second);
    if (!states_delta && !cell.source) NoteChosenDelta(spec, table);
  }
}

void AddSyntheticNotes(storage::Env& env, const ResultsView& view, ResultTable& table) {
  const std::string& metric = table.spec.metric;
  if (!IsSynthetic(metric)) return;
  std::set<TrialId> shown;
  for (const TableCell& cell : table.cells) shown.insert(cell.trials.begin(), cell.trials.end());
  std::map<std::string, std::vector<std::string>> trials;  // names, by how the value was measured
  for (const TrialView& trial : view.trials) {
    if (!shown.contains(trial.spec.id)) continue;
    const Result<std::optional<SyntheticResult>> result = ReadSynthetic(env, view.directory, trial);
    if (!result.ok())
      table.warnings.push_back(result.status().message());
    else if (result->has_value())
      trials[DescribeMeasurement(**result)].push_back(FormatTrialName(trial.spec));
  }
  if (trials.empty()) return;
  std::string text = metric + " was not measured alike in all rows:";
  for (const auto& [how, names] : trials)
    text += fmt::format(" {} in {}{};", how, names.front(),
                        names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1));
  text.back() = '.';
  table.warnings.push_back(trials.size() == 1 ? metric + " is " + trials.begin()->first + "." : std::move(text));
}

std::string FormatDifferences(const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& one : differences)
    text += (text.empty() ? "" : " | ") + one.key + " " + one.here + " (text " + one.text + ")";
  return text;
}

}  // namespace retort::orchestrator
