// The outputs of a loaded teacher that a data set's classes are: TrialSpec::outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retort {

// "0 217 482"
[[nodiscard]] std::string FormatOutputs(const std::vector<std::int64_t>& outputs);
// Reads what FormatOutputs writes; empty for an empty text. Nothing for any other text, for negative integers, and
// where two are alike.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ParseOutputs(std::string_view text);

}  // namespace retort
