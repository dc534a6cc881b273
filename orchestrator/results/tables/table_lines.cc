#include "orchestrator/results/tables/table_lines.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "experiments/privacy/statement.h"
#include "orchestrator/results/trial_fields.h"

namespace retort::orchestrator {
namespace {

std::string FindValue(const TeacherLine& teacher, const std::string& key) {
  if (key == "teacher") return teacher.name;
  if (key == "method") return teacher.method;
  if (key == "data") return teacher.data;
  if (key == "student" || key == "network") return teacher.network;
  return "";
}

// What teachers and cells have alike.
template <typename Line>
TableEntry Common(const Line& line, const ResultTable& table) {
  TableEntry entry;
  entry.summary = &line.summary;
  entry.planned = line.planned;
  entry.failed = line.failed;
  entry.published = line.published;
  entry.claims = &line.claims;
  entry.trials = &line.trials;
  entry.test = &line.test;
  entry.source = &line.source;
  entry.notes = &line.notes;
  entry.smoke = table.smoke && line.planned > 0;
  return entry;
}

}  // namespace

std::vector<std::string> ListKeyNames(const ResultTable& table) {
  std::vector<std::string> names = table.spec.rows;
  for (const std::string& column : table.spec.columns)
    if (!Holds(names, column)) names.push_back(column);
  return names;
}

TableEntry MakeEntry(const TeacherLine& teacher, const ResultTable& table) {
  TableEntry entry = Common(teacher, table);
  entry.role = "teacher";
  for (const std::string& name : ListKeyNames(table)) entry.keys.push_back(FindValue(teacher, name));
  entry.state = teacher.summary.n == 0                 ? CellState::missing
                : teacher.summary.n == teacher.planned ? CellState::complete
                                                       : CellState::partial;
  return entry;
}

TableEntry MakeEntry(const TableCell& cell, const ResultTable& table) {
  TableEntry entry = Common(cell, table);
  entry.role = "student";
  entry.keys = cell.row;
  for (std::size_t i = 0; i < table.spec.columns.size(); ++i)
    if (!Holds(table.spec.rows, table.spec.columns[i])) entry.keys.push_back(cell.column[i]);
  entry.state = cell.state;
  entry.differs = cell.differs;
  entry.best = cell.best;
  entry.best_published = cell.best_published;
  return entry;
}

std::vector<TableEntry> ListEntries(const ResultTable& table) {
  std::vector<TableEntry> entries;
  for (const TeacherLine& teacher : table.teachers) entries.push_back(MakeEntry(teacher, table));
  for (const TableCell& cell : table.cells) entries.push_back(MakeEntry(cell, table));
  return entries;
}

namespace {

using EventsByTrial = std::unordered_map<TrialId, std::vector<privacy::PrivacyEvent>>;
using ViewsById = std::unordered_map<TrialId, const TrialView*>;

// Of the proven claims about one example; infinity without one.
double ForPeople(const std::vector<privacy::Claim>& claims) {
  double largest = -1;
  for (const privacy::Claim& claim : claims) {
    if (claim.adjacency != privacy::Adjacency::example || claim.status == privacy::ClaimStatus::paper_formula) continue;
    largest = std::max(largest, claim.epsilon);
  }
  return largest < 0 ? std::numeric_limits<double>::infinity() : largest;
}

const TrialView* FindWorst(const std::vector<TrialId>& trials, const ViewsById& views) {
  const TrialView* worst = nullptr;
  for (const TrialId id : trials) {
    const auto found = views.find(id);
    if (found == views.end() || !found->second->row || found->second->state != TrialState::succeeded) continue;
    if (worst == nullptr || ForPeople(found->second->row->claims) > ForPeople(worst->row->claims))
      worst = found->second;
  }
  return worst;
}

std::string FormatEntryName(const TableEntry& entry) {
  std::string name = entry.role == "teacher" ? "teacher" : "";
  for (const std::string& key : entry.keys)
    if (!key.empty()) name += (name.empty() ? "" : entry.role == name ? " " : ", ") + key;
  return name;
}

}  // namespace

std::vector<std::string> MakeStatements(const ResultTable& table, const ResultsView& view) {
  EventsByTrial events;
  for (const storage::LedgerEntry& entry : view.ledger) events[entry.attempt.trial].push_back(entry.Charged());
  ViewsById views;
  for (const TrialView& trial : view.trials) views.emplace(trial.spec.id, &trial);
  std::vector<std::pair<std::string, std::string>> named;  // rows, paragraph
  std::unordered_map<std::string, std::size_t> places;     // of a paragraph, in `named`
  for (const TableEntry& entry : ListEntries(table)) {
    const TrialView* trial = FindWorst(*entry.trials, views);
    if (trial == nullptr) continue;
    std::string paragraph = privacy::WriteTrialStatement(trial->spec, trial->row->claims, events[trial->spec.id]);
    const auto [place, fresh] = places.try_emplace(paragraph, named.size());
    if (fresh)
      named.emplace_back(FormatEntryName(entry), std::move(paragraph));
    else
      named[place->second].first += "; " + FormatEntryName(entry);
  }
  std::vector<std::string> statements;
  for (const auto& [rows, paragraph] : named) statements.push_back(rows + ": " + paragraph);
  return statements;
}

}  // namespace retort::orchestrator
