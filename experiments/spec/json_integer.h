// Whole numbers in JSON of files that others may have written.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

namespace retort {

// Of any of nlohmann's JSON types; nothing for what is no whole number, or none that T holds: the library converts a
// number of any size, and what comes out of 1e95 is undefined.
template <typename T, typename Json>
std::optional<T> FindInteger(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.template get<std::uint64_t>();
    if (std::in_range<T>(value)) return static_cast<T>(value);
  } else if (json.is_number_integer()) {
    const auto value = json.template get<std::int64_t>();
    if (std::in_range<T>(value)) return static_cast<T>(value);
  }
  return std::nullopt;
}

// The same; throws std::invalid_argument where there is none.
template <typename T, typename Json>
T IntegerOf(const Json& json) {
  if (const std::optional<T> value = FindInteger<T>(json)) return *value;
  throw std::invalid_argument(json.dump() + " is not a whole number that can stand there");
}

}  // namespace retort
