// JSON: strict reading of one flat object, and numbers in files that others may have written (the first missing or
// mistyped field is kept as an error, and every later read gives a zero value); and text that is written piece by
// piece. For .cc files alone, since it includes the library.
#pragma once

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"

namespace retort {

// Documents. Reading and writing one is compiled in json.cc alone: the library would put all of it into every file.

// What is no UTF-8 is replaced by U+FFFD; doubles are written in shortest exact form.
// `indent`: blanks a level; -1: all on one line.
[[nodiscard]] std::string DumpJson(const nlohmann::json& json, int indent = -1);
[[nodiscard]] std::string DumpOrderedJson(const nlohmann::ordered_json& json, int indent = -1);
// The same for what keeps the order of its keys.
template <std::same_as<nlohmann::ordered_json> Json>
[[nodiscard]] std::string DumpJson(const Json& json, int indent = -1) {
  return DumpOrderedJson(json, indent);
}

// Throws the library's parse_error where `text` is no JSON.
[[nodiscard]] nlohmann::json ParseJson(std::string_view text);
// Returns a value that is_discarded() where `text` is no JSON.
[[nodiscard]] nlohmann::json TryParseJson(std::string_view text);
[[nodiscard]] nlohmann::ordered_json TryParseOrderedJson(std::string_view text);

// Parses `text` and returns read(json), in which exceptions of the library are caught. Error: damage, naming `what` and
// what the library says of a missing or ill-typed field; or read's own error.
template <typename T, typename Read>
[[nodiscard]] Result<T> ReadJson(std::string_view text, const std::string& what, Read&& read) {
  try {
    return std::forward<Read>(read)(ParseJson(text));
  } catch (const nlohmann::json::exception& error) {
    return DamageError(what + " does not decode: " + error.what());
  }
}

// Fields.

// A JSON number, or the strings "inf", "-inf", "nan", which JSON numbers cannot say.
[[nodiscard]] nlohmann::json MakeJsonNumber(double value);

class JsonFields {
 public:
  // `what` names the object in errors.
  JsonFields(const std::string& json, std::string what);

  [[nodiscard]] double Number(const char* key);
  [[nodiscard]] std::optional<double> NumberOrNull(const char* key);
  [[nodiscard]] std::int64_t Integer(const char* key);
  [[nodiscard]] std::int64_t Count(const char* key);                          // 0..2^40
  [[nodiscard]] std::vector<std::int64_t> Counts(const char* key);            // the same, any number of them
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
  throw std::invalid_argument(DumpJson(json) + " is not a whole number that can stand there");
}

// Writes JSON text piece by piece, where building a document in memory would be too slow.
// Values and brackets in the order of the text; commas and colons are its own. Bytes that are no UTF-8 are
// replaced by U+FFFD. REQUIRES: balanced brackets and keys.
class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(std::string_view name);

  JsonWriter& Text(std::string_view value);
  JsonWriter& Flag(bool value) { return Raw(value ? "true" : "false"); }
  template <std::integral T>
  JsonWriter& Integer(T value) {
    return Raw(std::to_string(value));
  }
  // The shortest text that reads back as the same double; null, which is no number, unless it is finite.
  JsonWriter& Number(double value);
  // A value that is JSON already.
  JsonWriter& Raw(std::string_view json);

  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void Separate();

  std::string text_;
  bool first_ = true;  // of its object or array, or after a key
};

}  // namespace retort
