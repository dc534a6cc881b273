// How trials are called on the command line and in print.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/ids.h"
#include "experiments/spec/status.h"
#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

// The trial's name and the first eight digits of its id: dpdfd-working-digits-s0-1f3a9c2e.
[[nodiscard]] std::string ShownName(const TrialSpec& spec);

// `word` is the id, a prefix of it (four digits or more), the name, the shown name, or the beginning of a shown name.
// An exact match wins over a beginning. Error: usage, listing the candidates when several fit, the nearest
// names when none does.
[[nodiscard]] Result<const TrialView*> FindTrial(const ResultsView& view, const std::string& word);

}  // namespace retort::orchestrator::cli
