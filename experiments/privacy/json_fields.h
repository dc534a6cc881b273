// Strict reading of one flat JSON object, for .cc files: the first missing or mistyped field is kept as an
// error and every later read gives a zero value.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::privacy {

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

}  // namespace retort::privacy
