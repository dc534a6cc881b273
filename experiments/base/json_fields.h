// JSON: strict reading of one flat object, and numbers in files that others may have written. The first missing or
// mistyped field is kept as an error, and every later read gives a zero value. For .cc files alone, since it includes
// the library.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/status.h"

namespace retort {

// A JSON number, or the strings "inf", "-inf", "nan", which JSON numbers cannot say.
[[nodiscard]] nlohmann::json NumberToJson(double value);

class JsonFields {
 public:
  // `what` names the object in errors.
  JsonFields(const std::string& json, std::string what);

  [[nodiscard]] double Number(const char* key);
  [[nodiscard]] std::optional<double> NumberOrNull(const char* key);
  [[nodiscard]] std::int64_t Integer(const char* key);
  [[nodiscard]] std::uint8_t Enumerator(const char* key, std::uint8_t last);  // 0..last
  [[nodiscard]] bool Flag(const char* key);
  [[nodiscard]] std::string String(const char* key);
  [[nodiscard]] std::vector<std::string> Strings(const char* key);
  [[nodiscard]] bool Has(const char* key) { return Find(key) != nullptr; }
  void Fail(const std::string& key, const std::string& expected);
  // ok, or damage naming the object and the first bad field.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  [[nodiscard]] const nlohmann::json* Find(const char* key);

  nlohmann::json object_;
  std::string what_;
  Status status_;
};

// Returns the whole number in a value of any of nlohmann's JSON types; nothing where it is not one, or does not fit T:
// the library converts a number of any size, and the result for 1e95 is undefined.
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
T RequireInteger(const Json& json) {
  if (const std::optional<T> value = FindInteger<T>(json)) return *value;
  throw std::invalid_argument(json.dump() + " is not a whole number that can stand there");
}

}  // namespace retort
