// Finds fields of a trial by name, as text: tables group by them, and --where compares them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator {

// A swept key as written in the sweep file, else the resolved value by its name in [trial]: "method",
// "reading", "teacher", "data", "epsilon", "seed", ... Empty where the key does not apply to the trial;
// nothing for a key that there is not.
[[nodiscard]] std::optional<std::string> FindSpecField(const TrialSpec& spec, const std::string& key);

// The fields of FindSpecField and "trial", "name", "state", "role", "failure", "attempts".
[[nodiscard]] std::optional<std::string> FindTrialField(const TrialView& trial, const std::string& key);

// Is `key` among `keys`?
[[nodiscard]] bool Holds(const std::vector<std::string>& keys, const std::string& key);

// Equal as text, or as numbers where both are.
[[nodiscard]] bool IsSameText(const std::string& a, const std::string& b);

// Does the trial fit? Keys that do not apply to it hold nothing.
[[nodiscard]] bool Fits(const TrialSpec& spec, const std::vector<KeyCondition>& conditions);

// KEY=VALUE conditions; equal as text, or as numbers where both are.
class WhereFilter {
 public:
  // Error: usage, for what is not KEY=VALUE.
  [[nodiscard]] static Result<WhereFilter> Parse(const std::vector<std::string>& conditions);
  [[nodiscard]] bool Holds(const TrialView& trial) const;
  // Error: usage, for a key that no trial of the view has, naming the nearest.
  [[nodiscard]] Status CheckKeys(const ResultsView& view) const;
  // Error: usage, for a value that no trial can have, of a key whose values are known: a choice, a data set or teacher
  // of the view, a state. Names all of them, the nearest first.
  [[nodiscard]] Status CheckValues(const ResultsView& view) const;

 private:
  std::vector<std::pair<std::string, std::string>> conditions_;
};

}  // namespace retort::orchestrator
