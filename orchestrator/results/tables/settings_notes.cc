#include "orchestrator/results/tables/settings_notes.h"

#include <map>

namespace retort::orchestrator {

void AddSettings(const TrialPointers& trials, ResultTable& table) {
  if (table.smoke) return;
  table.settings = DescribeSettings(trials);
  std::map<TrialId, const TrialSpec*> by_id;
  for (const TrialSpec* spec : trials) by_id.emplace(spec->id, spec);
  for (TableCell& cell : table.cells) {
    const auto found = cell.trials.empty() ? by_id.end() : by_id.find(cell.trials.front());
    if (found != by_id.end()) cell.differs = ListDifferences(*found->second);
  }
}

std::string FormatDifferences(const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& one : differences)
    text += (text.empty() ? "" : " | ") + one.key + " " + one.here + " (text " + one.text + ")";
  return text;
}

}  // namespace retort::orchestrator
