// Finds the published value that stands beside a cell or a teacher, and makes cells of values that stand alone.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/tables/published.h"
#include "orchestrator/results/tables/result_table.h"
#include "orchestrator/results/tables/table_trials.h"

namespace retort::orchestrator {

struct Join {
  const PublishedValue* value = nullptr;  // among those that the joiner was given; null: none
  bool named = false;                     // by `joins` of the table
};

// Whether the trial's delta is the one at which the source claims the value's epsilon. LabelDP and sources that name
// none agree with any.
[[nodiscard]] bool HasSameDelta(const PublishedValue& value, const TrialSpec& spec);

// Of one table. A value joins a trial when the data set (by published_as), the conditions of its scope and the epsilon
// agree, in its delta and what it is claimed for, too: a value at the epsilon of a paper's formula joins no trial that
// asks for a proven one or draws other noise (the reading sound). A value without epsilon joins at any. Where several
// differing values would join, none does, and `warnings` says which. `joins` of the table comes before all of this; a
// rule without a condition on `role` puts values of students beside students alone.
class PublishedJoiner {
 public:
  // The arguments outlive the joiner.
  PublishedJoiner(const SweepPlan& plan, const TableSpec& table, const std::vector<PublishedValue>& values);

  // `claims`: of the finished trials, if any; else the planned ones decide the epsilon of the paper's formula.
  [[nodiscard]] Join For(const TrialSpec& spec, const std::vector<privacy::Claim>& claims);

  // Joins of the table's cells, whose first trials are `specs`. A value that would stand beside several cells of one
  // method, reading, teacher and data set, which thus differ in what the value says nothing about, is taken from all of
  // them, with a warning; not where `joins` named it.
  void SettleShared(const std::vector<const TrialSpec*>& specs, std::vector<Join>& joins);

  [[nodiscard]] const std::vector<PublishedValue>& values() const { return values_; }
  [[nodiscard]] const PublishedScope& ScopeAt(std::size_t value) const { return scopes_[value]; }
  // Whether it is of the table's metric.
  [[nodiscard]] bool MetricFits(std::size_t value) const;
  // Whether the trial's keys are those of the scope, epsilon and data set apart.
  [[nodiscard]] bool InScope(const TrialSpec& spec, const PublishedScope& scope) const;
  // Adds a sentence for each rule of `joins` that matched no trial.
  void AddIdleRuleWarnings();
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  // Indices of values of a data set.
  [[nodiscard]] const std::vector<std::size_t>& OfData(const std::string& published_as);
  [[nodiscard]] std::string Fact(const TrialSpec& spec, const std::string& key) const;
  [[nodiscard]] bool Holds(const TrialSpec& spec, const TrialCondition& condition) const;
  // Whether the trial's epsilon is claimed for what that of the value is claimed for.
  [[nodiscard]] bool ClaimFits(const TrialSpec& spec, std::size_t value) const;
  [[nodiscard]] bool EpsilonFits(const TrialSpec& spec, const std::vector<privacy::Claim>& claims, std::size_t value);
  // Whether it is a teacher's own.
  [[nodiscard]] bool IsOfTeacher(std::size_t value) const;
  // What a rule of `joins` names beside the trial.
  [[nodiscard]] std::vector<const PublishedValue*> FindNamed(const TrialSpec& spec, const PublishedJoin& rule) const;
  // Of the paper's formula at the trial's parameters; nothing where it has none.
  [[nodiscard]] std::optional<double> ComputeFormulaEpsilon(const TrialSpec& spec,
                                                            const std::vector<privacy::Claim>& claims);
  // The one value of several candidates, or none and a warning.
  [[nodiscard]] const PublishedValue* Only(const std::vector<const PublishedValue*>& candidates, const TrialSpec& spec);
  void Warn(std::string sentence);

  const TableSpec& table_;
  const std::vector<PublishedValue>& values_;
  std::vector<PublishedScope> scopes_;  // of values_
  std::vector<bool> used_rules_;        // of table_.joins
  std::unordered_map<TrialId, const TrialSpec*> teachers_;
  std::unordered_map<std::string, std::vector<std::size_t>> of_data_;  // OfData, as far as asked
  privacy::ClaimCache accountant_;
  std::vector<std::string> warnings_;
};

// Values that a paper prints and that no measured cell stands beside, as cells of their own.

// A published value, and the data set beside whose cells it stands already.
using ShownValue = std::pair<const PublishedValue*, std::string>;

// One cell for each published value of a data set of the sweep that is not among `shown`. Its claim is what the paper
// claims, marked as a formula and as quoted. Keys of the table that the value says nothing about stay empty in a row; a
// value that leaves a column empty has no place. `students`: those of the table.
[[nodiscard]] std::vector<TableCell> MakeQuotedCells(const SweepPlan& plan, const TableSpec& spec,
                                                     const PublishedJoiner& joiner, const TrialPointers& students,
                                                     const std::set<ShownValue>& shown);

}  // namespace retort::orchestrator
