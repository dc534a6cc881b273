// What `retort plot --json` prints of a figure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orchestrator/cli/figure_data.h"

namespace retort::orchestrator::cli {

// `files`: those that were written.
[[nodiscard]] nlohmann::ordered_json FigureJson(const FigureData& data, const std::vector<std::string>& files);

}  // namespace retort::orchestrator::cli
