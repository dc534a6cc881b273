// Synthetic samples of trials, one picture each.
#pragma once

#include "orchestrator/cli/figure_data.h"
#include "orchestrator/cli/figure_words.h"

namespace retort::orchestrator::cli {

// Fills data.images: of each cell the samples of the first seed that kept any, series after series, by ascending x.
// Error: as reading the attempts.
[[nodiscard]] Status AddImages(FigureData& data, const ResultTable& table, const FigureSources& sources,
                               const SpecIndex& specs, const ViewIndex& views);

}  // namespace retort::orchestrator::cli
