// What a table says about settings that differ from the papers', about those that the papers leave open, and about
// images that its values were measured on.
#pragma once

#include <string>

#include "orchestrator/results/tables/result_table.h"
#include "orchestrator/results/tables/table_trials.h"

namespace retort::orchestrator {

// Fills the table's `settings`, a δ that no text states among them, and its cells' `differs` from the trials that it is
// made of. Nothing for the profile
// "smoke", whose settings are of its size.
void AddSettings(const TrialPointers& trials, ResultTable& table);

// Adds to the warnings of a table whose metric IsSynthetic what it was measured on, that this was not the same
// everywhere, and which file cannot be read.
void AddSyntheticNotes(storage::Env& env, const ResultsView& view, ResultTable& table);

// "dkd_beta 1 (text 8) | replay 40 (text 0)"
[[nodiscard]] std::string FormatDifferences(const std::vector<Difference>& differences);

}  // namespace retort::orchestrator
