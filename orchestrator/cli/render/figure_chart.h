// Makes a chart of a figure's points, and a JSON document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orchestrator/plot/chart.h"
#include "orchestrator/results/tables/figure_data.h"

namespace retort::orchestrator::cli {

[[nodiscard]] plot::Chart MakeChart(const FigureData& data);

// What `retort plot --json` prints of a figure.

// `files`: those that were written.
[[nodiscard]] nlohmann::ordered_json MakeFigureJson(const FigureData& data, const std::vector<std::string>& files);

}  // namespace retort::orchestrator::cli
