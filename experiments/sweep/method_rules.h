// The rules of single methods: reading, teacher, inputs, and keys that only one method uses. Errors about a trial are
// collected here.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/sweep/diagnostic_collector.h"
#include "experiments/sweep/sweep_document.h"
#include "experiments/sweep/trial_resolver.h"

namespace retort {

class TrialErrors {
 public:
  TrialErrors(const Layers& layers, const SweepDocument& document, DiagnosticCollector& diagnostics)
      : layers_(layers), document_(document), diagnostics_(diagnostics) {}

  // Reports an error at the strongest assignment of the first of `keys` that has one, else at [trial].
  void Add(std::initializer_list<std::string_view> keys, std::string message, std::vector<std::string> choices = {}) {
    good_ = false;
    for (const std::string_view key : keys) {
      if (const Assignment* assignment = FindStrongest(layers_, key)) {
        diagnostics_.AddError(assignment->where, assignment->path, std::move(message), std::move(choices));
        return;
      }
    }
    const Position where = document_.trial_where.source >= 0 ? document_.trial_where : document_.sweep_where;
    diagnostics_.AddError(where, "trial." + std::string(*keys.begin()), std::move(message), std::move(choices));
  }
  [[nodiscard]] bool good() const { return good_; }
  // Returns the assignment of the key by an axis or an argument, for this trial alone; null where only [trial] sets it.
  [[nodiscard]] const Assignment* FindOwn(std::string_view key) const {
    const Assignment* assignment = FindStrongest(layers_, key);
    return assignment != nullptr && assignment->path.starts_with("sweep.") ? assignment : nullptr;
  }
  [[nodiscard]] const SweepDocument& document() const { return document_; }

 private:
  const Layers& layers_;
  const SweepDocument& document_;
  DiagnosticCollector& diagnostics_;
  bool good_ = true;
};

// What a method asks of its trial: the reading, the teacher, the inputs, and the keys that only it uses.

// Returns the names of the teachers in the file that are of these kinds.
[[nodiscard]] std::vector<std::string> ListTeachers(const SweepDocument& document, KindMask kinds);

void CheckReading(const ResolvedTrial& trial, TrialErrors& errors);
void CheckTeaching(const ResolvedTrial& trial, TrialErrors& errors);
// REQUIRES: a data set.
void CheckSource(const ResolvedTrial& trial, TrialErrors& errors);
// Checks that the method can use the generator that the trial names.
void CheckGenerator(const ResolvedTrial& trial, TrialErrors& errors);
// Checks keys that have no meaning, or a wrong one, beside the others of the trial.
void CheckMethodKeys(const ResolvedTrial& trial, TrialErrors& errors);

}  // namespace retort
