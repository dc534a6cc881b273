// What stands on the axes and beside the lines of a figure. No epsilon without what it is about.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "orchestrator/cli/figure_data.h"

namespace retort::orchestrator::cli {

using SpecIndex = std::unordered_map<TrialId, const TrialSpec*>;
using ViewIndex = std::unordered_map<TrialId, const TrialView*>;

// What the epsilons of the table's trials ask for, where `data` shows a swept epsilon.
[[nodiscard]] std::vector<EpsilonTarget> TargetsOf(const FigureData& data, const ResultTable& table,
                                                   const SpecIndex& specs);

// "noise scale σ", "privacy budget ε (example, proven, δ = 1e-5)"; or the label that the figure gives.
[[nodiscard]] std::string XLabel(const FigureData& data);
[[nodiscard]] std::string YLabel(const FigureData& data);
// Whether the metric is a fraction, which is shown in percent.
[[nodiscard]] bool InPercent(const FigureData& data);

// "σ = 50"; names of methods, teachers and the like as they are. `trial`, where there is one, says what an epsilon is
// about.
[[nodiscard]] std::string ValueWords(const FigureData& data, const std::string& key, const std::string& value,
                                     const TrialSpec* trial);
// The values of those keys that `varying` marks; of all where it marks none.
[[nodiscard]] std::string SeriesLabel(const FigureData& data, const std::vector<bool>& varying,
                                      const std::vector<std::string>& values, const TrialSpec* trial);

// Sentences below the figure: spread, published values, what is missing, and what each series may claim.
[[nodiscard]] std::vector<std::string> CaptionOf(const FigureData& data);
// Every point in words, for those who cannot see the figure.
[[nodiscard]] std::string DescriptionOf(const FigureData& data);
// What every series claims, one sentence for those that claim the same.
[[nodiscard]] std::vector<std::string> ClaimSentences(const FigureData& data);

}  // namespace retort::orchestrator::cli
