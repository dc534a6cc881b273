#include "experiments/base/json.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "experiments/base/number_text.h"

namespace retort {
namespace {

constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

std::optional<std::int64_t> ParseCount(const nlohmann::json& value) {
  const std::optional<std::int64_t> count = FindInteger<std::int64_t>(value);
  return count && *count >= 0 && *count <= kMaxCount ? count : std::nullopt;
}

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

std::string DumpJson(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string DumpOrderedJson(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::json ParseJson(std::string_view text) { return nlohmann::json::parse(text); }
nlohmann::json TryParseJson(std::string_view text) { return nlohmann::json::parse(text, nullptr, false); }
nlohmann::ordered_json TryParseOrderedJson(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

nlohmann::json MakeJsonNumber(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

JsonFields::JsonFields(const std::string& json, std::string what)
    : object_(TryParseJson(json)), what_(std::move(what)) {
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

std::int64_t JsonFields::Count(const char* key) {
  const nlohmann::json* value = Find(key);
  const std::optional<std::int64_t> count = value != nullptr ? ParseCount(*value) : std::nullopt;
  if (!count) Fail(key, "a whole number from 0 to 2^40");
  return count.value_or(0);
}

std::vector<std::int64_t> JsonFields::Counts(const char* key) {
  std::vector<std::int64_t> counts;
  const nlohmann::json* value = Find(key);
  if (value == nullptr || !value->is_array()) {
    Fail(key, "a list of counts");
    return counts;
  }
  for (const nlohmann::json& entry : *value) {
    const std::optional<std::int64_t> count = ParseCount(entry);
    if (!count) Fail(key, "a list of counts");
    counts.push_back(count.value_or(0));
  }
  return counts;
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

namespace {

struct Letters {
  bool plain = true;        // only printable ASCII, which needs at most a backslash
  std::size_t escaped = 0;  // characters that need a backslash
};

// Does not stop early: a loop without branches is many times faster on long texts.
Letters Count(std::string_view text) {
  unsigned strange = 0;
  std::size_t escaped = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    strange |= static_cast<unsigned>(byte < 0x20U) | static_cast<unsigned>(byte > 0x7eU);
    escaped += static_cast<std::size_t>(byte == '"') + static_cast<std::size_t>(byte == '\\');
  }
  return {strange == 0, escaped};
}

void AppendQuoted(std::string& out, std::string_view text, std::size_t escaped) {
  out += '"';
  if (escaped == 0) {
    out += text;
  } else {
    const std::size_t begin = out.size();
    out.resize(begin + text.size() + escaped);
    char* to = out.data() + begin;
    for (const char c : text) {
      if (c == '"' || c == '\\') *to++ = '\\';
      *to++ = c;
    }
  }
  out += '"';
}

}  // namespace

JsonWriter& JsonWriter::Key(std::string_view name) {
  Text(name);
  text_ += ':';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::Text(std::string_view value) {
  const Letters letters = Count(value);
  if (!letters.plain) return Raw(DumpJson(nlohmann::json(value)));
  Separate();
  AppendQuoted(text_, value, letters.escaped);
  return *this;
}

JsonWriter& JsonWriter::Number(double value) {
  if (!std::isfinite(value)) return Raw("null");
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  Raw(text);
  if (text.find_first_of(".e") == std::string_view::npos) text_ += ".0";  // a reader sees that it is real
  return *this;
}

JsonWriter& JsonWriter::Raw(std::string_view json) {
  Separate();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  text_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  first_ = false;
  return *this;
}

void JsonWriter::Separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

}  // namespace retort
