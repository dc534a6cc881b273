#include "experiments/base/json_fields.h"

#include <cmath>
#include <limits>
#include <utility>

#include "experiments/base/infinity.h"

namespace retort {
namespace {

std::optional<double> ParseNumber(const nlohmann::json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  if (text == "inf") return kInfinity;
  if (text == "-inf") return -kInfinity;
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

}  // namespace

nlohmann::json NumberToJson(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

JsonFields::JsonFields(const std::string& json, std::string what)
    : object_(nlohmann::json::parse(json, nullptr, false)), what_(std::move(what)) {
  if (!object_.is_object()) status_ = DamageError("The " + what_ + " is not a JSON object.");
}

void JsonFields::Fail(const std::string& key, const std::string& expected) {
  if (status_.ok()) status_ = DamageError("The " + what_ + " has no valid '" + key + "': expected " + expected + ".");
}

const nlohmann::json* JsonFields::Find(const char* key) {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() ? nullptr : &*found;
}

double JsonFields::Number(const char* key) {
  const nlohmann::json* value = Find(key);
  const std::optional<double> number = value != nullptr ? ParseNumber(*value) : std::nullopt;
  if (!number) Fail(key, "a number, \"inf\", \"-inf\" or \"nan\"");
  return number.value_or(0);
}

std::optional<double> JsonFields::NumberOrNull(const char* key) {
  const nlohmann::json* value = Find(key);
  if (value != nullptr && value->is_null()) return std::nullopt;
  return Number(key);
}

std::int64_t JsonFields::Integer(const char* key) {
  const nlohmann::json* value = Find(key);
  const std::optional<std::int64_t> integer = value != nullptr ? FindInteger<std::int64_t>(*value) : std::nullopt;
  if (!integer) Fail(key, "a whole number");
  return integer.value_or(0);
}

std::uint8_t JsonFields::Enumerator(const char* key, std::uint8_t last) {
  const std::int64_t value = Integer(key);
  if (value >= 0 && value <= last) return static_cast<std::uint8_t>(value);
  Fail(key, "a number from 0 to " + std::to_string(last));
  return 0;
}

bool JsonFields::Flag(const char* key) {
  const nlohmann::json* value = Find(key);
  if (value != nullptr && value->is_boolean()) return value->get<bool>();
  Fail(key, "true or false");
  return false;
}

std::string JsonFields::String(const char* key) {
  const nlohmann::json* value = Find(key);
  if (value != nullptr && value->is_string()) return value->get<std::string>();
  Fail(key, "a string");
  return "";
}

std::vector<std::string> JsonFields::Strings(const char* key) {
  std::vector<std::string> strings;
  const nlohmann::json* value = Find(key);
  if (value == nullptr || !value->is_array()) {
    Fail(key, "a list of strings");
    return strings;
  }
  for (const nlohmann::json& entry : *value) {
    if (entry.is_string())
      strings.push_back(entry.get<std::string>());
    else
      Fail(key, "a list of strings");
  }
  return strings;
}

}  // namespace retort
