// One combination of axis rows to one resolved trial.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/spec/complaints.h"
#include "experiments/spec/sweep_document.h"

namespace retort {

// The assignments that reach a trial, weakest first: [trial], one row of each axis, `when` rules.
using Layers = std::vector<const Assignments*>;

// A trial before it has an id, with what it was made from.
struct Composition {
  TrialSpec spec;
  TrialKind kind = TrialKind::gradient_student;
  const TeacherDefinition* teacher = nullptr;  // of methods that ask one
  const DataTable* data = nullptr;
  bool judged = true;  // false: something it depends on was complained about already
  bool excluded = false;
  bool full_batch = false;  // every step takes all private examples, whose number spec.batch then is
};

class TrialResolver {
 public:
  // Both outlive the object.
  TrialResolver(const SweepDocument& document, Complaints& complaints);

  // `layers` gains the matching `when` rules. Cross-field rules are not checked here.
  [[nodiscard]] Composition ResolveStudent(Layers& layers, std::uint64_t seed);
  [[nodiscard]] Composition ResolveTeacher(const TeacherDefinition& teacher, const DataTable& data,
                                           std::uint64_t seed);
  // Errors for keys that reach no trial to which they apply; warnings for rules that never matched.
  // Only meaningful after all trials are resolved.
  void ReportUnused() const;

 private:
  // method, kind, reading, branch, source, data, teacher
  using BaseKey = std::tuple<std::string, TrialKind, Reading, Branch, QuerySource, const DataTable*,
                             const TeacherDefinition*>;

  [[nodiscard]] Composition Compose(const Layers& layers, std::uint64_t seed);
  void Select(const Layers& layers, Composition& composition) const;
  void SelectParts(const Layers& layers, Composition& composition, bool& source_set) const;
  [[nodiscard]] const TrialSpec& Base(const Composition& selected);
  void Apply(const Assignments& assignments, Composition& composition);
  [[nodiscard]] static bool Matches(const std::vector<Condition>& conditions, const Composition& composition);
  void ReportUnusedIn(const Assignments& assignments) const;

  const SweepDocument& document_;
  Complaints& complaints_;
  const SpecKey *method_, *reading_, *branch_, *source_, *teacher_, *data_;
  std::map<BaseKey, TrialSpec> bases_;
  std::vector<char> used_;  // by Assignment::number
  std::vector<char> when_matched_, exclude_matched_;
  bool all_judged_ = true;
};

// The strongest assignment of a key by its name in [trial], or null.
[[nodiscard]] const Assignment* StrongestOf(const Layers& layers, std::string_view name);

}  // namespace retort
