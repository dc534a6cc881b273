// Writes JSON text piece by piece, where building a document in memory would be too slow.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace retort {

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
