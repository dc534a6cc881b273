// The bytes of experiments/reference/published.csv; defined in a file that the build generates.
#pragma once

#include <string_view>

namespace retort::orchestrator::cli {

[[nodiscard]] std::string_view PublishedCsv();

}  // namespace retort::orchestrator::cli
