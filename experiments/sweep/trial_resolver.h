// Resolves one combination of axis rows to a trial.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/sweep/diagnostic_collector.h"
#include "experiments/sweep/sweep_document.h"

namespace retort {

// The assignments that reach a trial, weakest first: [trial], one row of each axis, `when` rules.
using Layers = std::vector<const Assignments*>;

// A trial before it has an id, with what it was made from.
struct ResolvedTrial {
  TrialSpec spec;
  TrialKind kind = TrialKind::gradient_student;
  const TeacherDefinition* teacher = nullptr;  // of methods that ask one
  const DataTable* data = nullptr;
  bool checkable = true;  // false: something that it depends on was already reported
  bool excluded = false;
  bool full_batch = false;  // every step takes all private examples, whose number spec.batch then is
};

class TrialResolver {
 public:
  // Both outlive the object.
  TrialResolver(const SweepDocument& document, DiagnosticCollector& diagnostics);

  // `layers` gains the matching `when` rules. Cross-field rules are not checked here.
  [[nodiscard]] ResolvedTrial ResolveStudent(Layers& layers, std::uint64_t seed);
  [[nodiscard]] ResolvedTrial ResolveTeacher(const TeacherDefinition& teacher, const DataTable& data,
                                             std::uint64_t seed);
  // Errors for keys that reach no trial to which they apply; warnings for rules that never matched.
  // Only meaningful after all trials are resolved.
  void ReportUnused() const;

 private:
  // method, kind, reading, branch, source, data, teacher
  using BaseKey =
      std::tuple<std::string, TrialKind, Reading, Branch, QuerySource, const DataTable*, const TeacherDefinition*>;

  [[nodiscard]] ResolvedTrial Compose(const Layers& layers, std::uint64_t seed);
  void Select(const Layers& layers, ResolvedTrial& trial) const;
  void SelectParts(const Layers& layers, ResolvedTrial& trial, bool& source_set) const;
  [[nodiscard]] const TrialSpec& Base(const ResolvedTrial& selected);
  void Apply(const Assignments& assignments, ResolvedTrial& trial);
  void TakeLayers(TrialSpec& spec) const;
  void TakeWidth(const Layers& layers, ResolvedTrial& trial);
  [[nodiscard]] bool IsOfOtherMethods(const Assignment& assignment, TrialKind kind) const;
  [[nodiscard]] std::string ExplainUnused(const Assignment& assignment) const;
  [[nodiscard]] static bool Matches(const std::vector<Condition>& conditions, const ResolvedTrial& trial);
  void ReportUnusedIn(const Assignments& assignments) const;

  const SweepDocument& document_;
  DiagnosticCollector& diagnostics_;
  const SpecKey *method_, *reading_, *branch_, *source_, *label_, *teacher_, *data_, *generator_, *width_;
  std::map<BaseKey, TrialSpec> bases_;
  std::vector<char> used_;  // by Assignment::number
  std::vector<char> when_matched_, exclude_matched_;
  bool all_checkable_ = true;
};

// The strongest assignment of a key by its name in [trial], or null.
[[nodiscard]] const Assignment* FindStrongest(const Layers& layers, std::string_view name);

}  // namespace retort
