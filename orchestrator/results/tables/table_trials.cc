#include "orchestrator/results/tables/table_trials.h"

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "orchestrator/results/trial_fields.h"

namespace retort::orchestrator {
namespace {

std::vector<std::string> UnplacedAxes(const TrialPointers& trials, const TableSpec& table) {
  std::vector<std::string> unplaced;
  for (const TrialSpec* spec : trials)
    for (const auto& [axis, value] : spec->axes)
      if (!Holds(table.rows, axis) && !Holds(table.columns, axis) && !Holds(unplaced, axis)) unplaced.push_back(axis);
  return unplaced;
}

// Students that agree in the row and column keys, and in `axis` do not.
bool Splits(const TrialPointers& trials, const TableSpec& table, const std::string& axis) {
  using CellKeys = std::pair<std::vector<std::string>, std::vector<std::string>>;
  std::map<CellKeys, std::string> seen;
  for (const TrialSpec* spec : trials) {
    if (spec->role == Role::teacher) continue;
    const std::string value = FormatTableValue(*spec, axis);
    const auto [cell, fresh] =
        seen.try_emplace({ListValues(*spec, table.rows), ListValues(*spec, table.columns)}, value);
    if (!fresh && cell->second != value) return true;
  }
  return false;
}

}  // namespace

TrialPointers FindStudents(const SweepPlan& plan, const TableSpec& table) {
  TrialPointers students;
  for (const TrialSpec& spec : plan.trials)
    if (spec.role == Role::student && Fits(spec, table.where)) students.push_back(&spec);
  return students;
}

TrialPointers FindTrials(const SweepPlan& plan, const TableSpec& table) {
  const TrialPointers students = FindStudents(plan, table);
  std::unordered_set<TrialId> needed;
  for (const TrialSpec* spec : students)
    if (spec->parent) needed.insert(*spec->parent);
  TrialPointers trials;
  for (const TrialSpec& spec : plan.trials)
    if (spec.role == Role::teacher && (table.where.empty() || needed.contains(spec.id))) trials.push_back(&spec);
  trials.insert(trials.end(), students.begin(), students.end());
  return trials;
}

std::string FormatTableValue(const TrialSpec& spec, const std::string& key) {
  std::string value = FindSpecField(spec, key).value_or("");
  return key == "epsilon" && IsSameText(value, "0") ? "" : value;
}

std::vector<std::string> ListValues(const TrialSpec& spec, const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (const std::string& key : keys) values.push_back(FormatTableValue(spec, key));
  return values;
}

std::vector<std::string> MakeTeacherKey(const TrialSpec& spec) {
  // "student" is the key of the network.
  std::vector<std::string> key = ListValues(spec, {"data", "method", "student", "delta", "noise", "threads"});
  key.push_back(spec.teacher);
  return key;
}

TableSpec AddUnplacedAxes(const TrialPointers& trials, TableSpec table) {
  for (const std::string& axis : UnplacedAxes(trials, table))
    if (Splits(trials, table, axis)) table.rows.push_back(axis);
  return table;
}

namespace {

using ViewsById = std::unordered_map<TrialId, const TrialView*>;

bool Ended(const ViewsById& views, TrialId id) {
  const auto found = views.find(id);
  return found != views.end() && IsFinal(found->second->state) && found->second->failure != FailureKind::disk;
}

bool Succeeded(const ViewsById& views, TrialId id) {
  const auto found = views.find(id);
  return found != views.end() && found->second->state == TrialState::succeeded;
}

}  // namespace

Completion PlanCompletion(const SweepPlan& plan, const std::vector<TableSpec>& tables, const ResultsView& view) {
  ViewsById views;
  for (const TrialView& trial : view.trials) views.emplace(trial.spec.id, &trial);
  Completion completion;
  std::unordered_set<TrialId> seen, needed;
  for (const TableSpec& table : tables) {
    for (const TrialSpec* spec : FindStudents(plan, table)) {
      if (!seen.insert(spec->id).second || Succeeded(views, spec->id)) continue;
      if (Ended(views, spec->id)) {
        ++completion.failed;
        continue;
      }
      ++completion.missing;
      needed.insert(spec->id);
      if (spec->parent) needed.insert(*spec->parent);
    }
  }
  completion.plan = plan;
  std::erase_if(completion.plan.trials,
                [&](const TrialSpec& spec) { return !needed.contains(spec.id) && !Ended(views, spec.id); });
  return completion;
}

}  // namespace retort::orchestrator
