// C++ values as JSON and back, exactly. What JSON has no form for is written as text: NaN and the
// infinities as "nan", "inf", "-inf"; a string that is not UTF-8 as {"bytes": "<hex>"}. Private to the codec.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/failure_kind.h"
#include "experiments/spec/json_integer.h"
#include "experiments/spec/json_writer.h"

namespace retort::cluster {

using Json = nlohmann::json;

[[nodiscard]] bool IsUtf8(std::string_view bytes);
[[nodiscard]] std::string ToHex(std::string_view bytes);
[[nodiscard]] std::optional<std::string> FromHex(std::string_view hex);

inline void Write(JsonWriter& json, bool value) { json.Flag(value); }
template <std::integral T>
void Write(JsonWriter& json, T value) {
  json.Integer(value);
}
void Write(JsonWriter& json, double value);
void Write(JsonWriter& json, std::string_view value);
void Write(JsonWriter& json, FailureKind value);
void Write(JsonWriter& json, const privacy::PrivacyEvent& value);
inline void Write(JsonWriter& json, const std::string& value) { Write(json, std::string_view(value)); }
template <typename A, typename B>
void Write(JsonWriter& json, const std::pair<A, B>& value) {
  json.BeginArray();
  Write(json, value.first);
  Write(json, value.second);
  json.EndArray();
}
template <typename T>
void Write(JsonWriter& json, const std::vector<T>& values) {
  json.BeginArray();
  for (const T& value : values) Write(json, value);
  json.EndArray();
}

// Each FromJson is false, with `out` unspecified, when the JSON is not such a value.
[[nodiscard]] bool FromJson(const Json& json, bool& out);
[[nodiscard]] bool FromJson(const Json& json, double& out);
[[nodiscard]] bool FromJson(const Json& json, std::string& out);
[[nodiscard]] bool FromJson(const Json& json, FailureKind& out);
[[nodiscard]] bool FromJson(const Json& json, privacy::PrivacyEvent& out);
template <std::integral T>
[[nodiscard]] bool FromJson(const Json& json, T& out) {
  const std::optional<T> value = FindInteger<T>(json);
  if (value) out = *value;
  return value.has_value();
}
template <typename A, typename B>
[[nodiscard]] bool FromJson(const Json& json, std::pair<A, B>& out) {
  return json.is_array() && json.size() == 2 && FromJson(json[0], out.first) && FromJson(json[1], out.second);
}
template <typename T>
[[nodiscard]] bool FromJson(const Json& json, std::vector<T>& out) {
  if (!json.is_array()) return false;
  out.clear();
  out.reserve(json.size());
  for (const Json& entry : json) {
    if (!FromJson(entry, out.emplace_back())) return false;
  }
  return true;
}

}  // namespace retort::cluster
