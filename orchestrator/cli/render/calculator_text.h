// Formats what the calculators found, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/privacy/calculator.h"
#include "experiments/privacy/published_settings.h"

namespace retort::orchestrator::cli {

// A table of the claims and its notes; `explain` adds theorem, inputs and order or bracket of each.
[[nodiscard]] std::string FormatAnswers(const std::vector<privacy::Answer>& answers, bool explain, std::size_t width);
// {"claims":[...], "details":[{"variant","theorem","inputs","detail","unrounded"}...]}, in the same order.
void AddAnswers(const std::vector<privacy::Answer>& answers, nlohmann::ordered_json& document);

[[nodiscard]] std::string FormatSettings(const std::vector<privacy::PublishedSetting>& settings, std::size_t width);
[[nodiscard]] nlohmann::ordered_json MakeSettingsJson(const std::vector<privacy::PublishedSetting>& settings);

}  // namespace retort::orchestrator::cli
