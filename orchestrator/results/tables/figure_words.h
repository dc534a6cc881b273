// Finds the words on the axes and beside the lines of a figure. An epsilon always comes with what it is about.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "orchestrator/results/tables/figure_data.h"

namespace retort::orchestrator {

using SpecIndex = std::unordered_map<TrialId, const TrialSpec*>;
using ViewIndex = std::unordered_map<TrialId, const TrialView*>;

// What the epsilons of the table's trials ask for, where `data` shows a swept epsilon.
[[nodiscard]] std::vector<EpsilonTarget> FindTargets(const FigureData& data, const ResultTable& table,
                                                     const SpecIndex& specs);

// "noise scale σ", "privacy budget ε (example, proven, δ = 1e-5)"; or the label that the figure gives.
[[nodiscard]] std::string FormatXLabel(const FigureData& data);
[[nodiscard]] std::string FormatYLabel(const FigureData& data);
// Whether the metric is a fraction, which is shown in percent.
[[nodiscard]] bool IsInPercent(const FigureData& data);

// "σ = 50"; names of methods, teachers and the like as they are. `trial`, where there is one, says what an epsilon is
// about.
[[nodiscard]] std::string DescribeValue(const FigureData& data, const std::string& key, const std::string& value,
                                        const TrialSpec* trial);
// The values of those keys that `varying` marks; of all where it marks none.
[[nodiscard]] std::string FormatSeriesLabel(const FigureData& data, const std::vector<bool>& varying,
                                            const std::vector<std::string>& values, const TrialSpec* trial);

}  // namespace retort::orchestrator
