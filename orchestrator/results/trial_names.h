// Formats the names of trials, finds trials by name, and makes commands that are printed to be pasted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "orchestrator/results/results_view.h"

namespace retort::orchestrator {

// A word as a shell reads it again: in single quotes where it holds anything but letters, digits and "/._-+=:,@%".
[[nodiscard]] std::string QuoteForShell(std::string_view word);

// The trial's name and the first eight digits of its id: dpdfd-working-digits-s0-1f3a9c2e.
[[nodiscard]] std::string FormatTrialName(const TrialSpec& spec);

// `word` is the id, a prefix of it (four digits or more), the name, the shown name, or the beginning of a shown name.
// An exact match wins over a beginning. Error: usage, listing the candidates when several fit, the nearest
// names when none does.
[[nodiscard]] Result<const TrialView*> FindTrial(const ResultsView& view, const std::string& word);

// `words`, which a shell reads as they are, about the results folder: "retort list --results 'r 1'".
[[nodiscard]] std::string AddResultsOption(const std::string& words, const std::string& directory);

// What `command` ("show") does with a trial, without its results folder: "retort show sleep-s1-0123abcd".
[[nodiscard]] std::string FormatTrialCommand(const std::string& command, const TrialSpec& spec);

// What goes on with the sweep of a results folder: `retort run` of the resolved sweep file in it.
[[nodiscard]] std::string RunAgainCommand(const std::string& directory);

}  // namespace retort::orchestrator
