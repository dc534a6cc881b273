#include "experiments/methods/teacher_outputs.h"

#include <algorithm>
#include <charconv>

namespace retort {

std::string FormatOutputs(const std::vector<std::int64_t>& outputs) {
  std::string text;
  for (const std::int64_t output : outputs) text += (text.empty() ? "" : " ") + std::to_string(output);
  return text;
}

std::optional<std::vector<std::int64_t>> ParseOutputs(std::string_view text) {
  std::vector<std::int64_t> outputs;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t output = 0;
    const auto [stop, error] = std::from_chars(at, end, output);
    if (error != std::errc() || output < 0) return std::nullopt;
    if (std::find(outputs.begin(), outputs.end(), output) != outputs.end()) return std::nullopt;
    outputs.push_back(output);
    if (stop != end && (*stop != ' ' || stop + 1 == end)) return std::nullopt;
    at = stop == end ? end : stop + 1;
  }
  return outputs;
}

}  // namespace retort
