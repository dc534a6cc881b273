// Adds synthetic samples of trials to a figure, and maps of them.
#pragma once

#include "orchestrator/results/tables/figure_data.h"
#include "orchestrator/results/tables/figure_words.h"

namespace retort::orchestrator {

// Fills data.images: of each cell the samples of the first seed that kept any, series after series, by ascending x.
// Error: as reading the attempts.
[[nodiscard]] Status AddImages(FigureData& data, const ResultTable& table, const FigureSources& sources,
                               const SpecIndex& specs, const ViewIndex& views);

// Synthetic samples of trials among images of their data sets: t-SNE maps of pixels.

// Fills `map` of every one of data.images that has samples, from those and from images of its trial's data
// set, at most data.spec.count of each kind. Pixels count from 0 to 1. Errors: those of sources.pictures,
// also of a data set that is not here where the figure has nothing else to show; usage, naming both, where
// samples and images differ in shape, and where there is one image in all.
[[nodiscard]] Status AddMaps(FigureData& data, const FigureSources& sources, const SpecIndex& specs);

}  // namespace retort::orchestrator
