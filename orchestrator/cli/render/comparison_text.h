// Formats the comparison of measured with published values as text and JSON.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orchestrator/results/tables/comparison.h"

namespace retort::orchestrator::cli {

// One table: a line for each published value, and below it how many have which verdict. `keys`: ListKeyNames of the
// table.
[[nodiscard]] std::string FormatComparison(const std::vector<ComparedValue>& compared,
                                           const std::vector<std::string>& keys);
// One page: how many values of each paper have which verdict, in all and by reading.
[[nodiscard]] std::string FormatCounts(const std::vector<PaperCount>& counts);

[[nodiscard]] nlohmann::ordered_json MakeComparedJson(const ComparedValue& compared,
                                                      const std::vector<std::string>& keys);
[[nodiscard]] nlohmann::ordered_json CountJson(const PaperCount& count);

}  // namespace retort::orchestrator::cli
