#include "orchestrator/cli/table_statements.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "experiments/privacy/trial_statement.h"
#include "orchestrator/cli/table_lines.h"

namespace retort::orchestrator::cli {
namespace {

using EventsByTrial = std::unordered_map<TrialId, std::vector<privacy::PrivacyEvent>>;
using ViewsById = std::unordered_map<TrialId, const TrialView*>;

// Of the proven claims about one example; infinity without one.
double ForPeople(const std::vector<privacy::Claim>& claims) {
  double largest = -1;
  for (const privacy::Claim& claim : claims) {
    if (claim.adjacency != privacy::Adjacency::example || claim.status == privacy::ClaimStatus::paper_formula)
      continue;
    largest = std::max(largest, claim.epsilon);
  }
  return largest < 0 ? std::numeric_limits<double>::infinity() : largest;
}

const TrialView* WorstOf(const std::vector<TrialId>& trials, const ViewsById& views) {
  const TrialView* worst = nullptr;
  for (const TrialId id : trials) {
    const auto found = views.find(id);
    if (found == views.end() || !found->second->row || found->second->state != TrialState::succeeded)
      continue;
    if (worst == nullptr || ForPeople(found->second->row->claims) > ForPeople(worst->row->claims))
      worst = found->second;
  }
  return worst;
}

std::string NameOf(const TableEntry& entry) {
  std::string name = entry.role == "teacher" ? "teacher" : "";
  for (const std::string& key : entry.keys)
    if (!key.empty()) name += (name.empty() ? "" : entry.role == name ? " " : ", ") + key;
  return name;
}

}  // namespace

std::vector<std::string> StatementsOf(const ResultTable& table, const ResultsView& view) {
  EventsByTrial events;
  for (const storage::LedgerEntry& entry : view.ledger)
    events[entry.attempt.trial].push_back(entry.Charged());
  ViewsById views;
  for (const TrialView& trial : view.trials) views.emplace(trial.spec.id, &trial);
  std::vector<std::pair<std::string, std::string>> named;  // rows, paragraph
  std::unordered_map<std::string, std::size_t> places;     // of a paragraph, in `named`
  for (const TableEntry& entry : EntriesOf(table)) {
    const TrialView* trial = WorstOf(*entry.trials, views);
    if (trial == nullptr) continue;
    std::string paragraph = privacy::TrialStatement(trial->spec, trial->row->claims, events[trial->spec.id]);
    const auto [place, fresh] = places.try_emplace(paragraph, named.size());
    if (fresh)
      named.emplace_back(NameOf(entry), std::move(paragraph));
    else
      named[place->second].first += "; " + NameOf(entry);
  }
  std::vector<std::string> statements;
  for (const auto& [rows, paragraph] : named) statements.push_back(rows + ": " + paragraph);
  return statements;
}

}  // namespace retort::orchestrator::cli
