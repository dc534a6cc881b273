// Makes the caption of a figure, and the description that stands in place of it.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/results/tables/figure_data.h"

namespace retort::orchestrator::cli {

// Sentences below the figure: spread, published values, what is missing, and what each series may claim.
[[nodiscard]] std::vector<std::string> MakeCaption(const FigureData& data);
// Every point in words, for those who cannot see the figure.
[[nodiscard]] std::string DescribeFigure(const FigureData& data);
// What every series claims, one sentence for those that claim the same.
[[nodiscard]] std::vector<std::string> FormatClaimSentences(const FigureData& data);

}  // namespace retort::orchestrator::cli
