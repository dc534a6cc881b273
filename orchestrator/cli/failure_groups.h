// Trials that failed alike, so that ten thousand failures of one cause are told as one. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/results_view.h"

namespace retort::orchestrator::cli {

using TrialGroup = std::vector<const TrialView*>;  // never empty

// Of one failure (FailureWord), with the same first sentence of the detail but for the numbers in it: process ids, steps,
// times. Those that are final also have their state in common. The largest first; equal ones, and the trials of each, in
// the order of `trials`.
[[nodiscard]] std::vector<TrialGroup> GroupFailures(const TrialGroup& trials);

// Of a failure's detail, on one line and without the stop at its end.
[[nodiscard]] std::string FirstSentence(std::string_view detail);
// The detail on one line where it has no more than `width` columns, else what fits of its first sentence.
[[nodiscard]] std::string ShortDetail(std::string_view detail, std::size_t width);

}  // namespace retort::orchestrator::cli
