#include "experiments/base/json_writer.h"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cmath>

namespace retort {
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
  if (!letters.plain) return Raw(nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
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
