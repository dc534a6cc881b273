#include "experiments/spec/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace retort {
namespace {

// Printable ASCII, which needs at most a backslash.
bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7f'; });
}

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find_first_of("\"\\"), text.size());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    out += '\\';
    out += text.front();
    text.remove_prefix(1);
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
  if (!IsPlain(value))
    return Raw(nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  Separate();
  AppendQuoted(text_, value);
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
