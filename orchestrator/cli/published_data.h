// The bytes of experiments/published/*.csv; defined in a file that the build generates.
#pragma once

#include <array>
#include <string_view>

namespace retort::orchestrator::cli {

[[nodiscard]] std::array<std::string_view, 4> PublishedCsv();

}  // namespace retort::orchestrator::cli
