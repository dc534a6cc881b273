#include "orchestrator/cli/html_writer.h"

#include <algorithm>
#include <cstdint>

#include "experiments/spec/status.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the UTF-8 sequence that begins at `at`; 0 when none does.
std::size_t SequenceAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  std::size_t length = 0;
  std::uint32_t point = 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) length = 2, point = first & 0x1FU;
  if (first >= 0xE0 && first < 0xF0) length = 3, point = first & 0x0FU;
  if (first >= 0xF0 && first < 0xF5) length = 4, point = first & 0x07U;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return 0;
    point = point << 6U | (byte(at + i) & 0x3FU);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xD800 && point < 0xE000;
  const bool control = point < 0xA0;  // the second block of them
  return overlong || surrogate || control || point > 0x10FFFF ? 0 : length;
}

}  // namespace

std::string EscapedHtml(std::string_view text) {
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = SequenceAt(text, at);
    const char c = text[at];
    if (length == 0) {
      safe += kReplacement;
    } else if (c == '&') {
      safe += "&amp;";
    } else if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '"') {
      safe += "&quot;";
    } else if (c == '\'') {
      safe += "&#39;";
    } else if (length > 1 || c == '\n' || c == '\t' || (c >= ' ' && c != '\x7f')) {
      safe += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return safe;
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= count ? kDigits[group >> (18U - 6U * static_cast<unsigned>(i)) & 0x3FU] : '=';
  }
  return text;
}

void Html::Begin(std::string_view tag, const HtmlAttributes& attributes) {
  out_ += '<';
  out_ += tag;
  for (const auto& [name, value] : attributes) out_ += " " + name + "=\"" + EscapedHtml(value) + "\"";
  out_ += '>';
}

void Html::Open(std::string_view tag, const HtmlAttributes& attributes) {
  Begin(tag, attributes);
  open_.emplace_back(tag);
}

void Html::Close() {
  RETORT_CHECK(!open_.empty());
  out_ += "</" + open_.back() + ">";
  open_.pop_back();
}

void Html::Element(std::string_view tag, std::string_view text, const HtmlAttributes& attributes) {
  Open(tag, attributes);
  Text(text);
  Close();
}

void Html::Prose(std::string_view tag, std::string_view text, const HtmlAttributes& attributes) {
  Open(tag, attributes);
  while (true) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    Text(text.substr(0, begin));
    Element("code", text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
  Text(text);
  Close();
}

void Html::Void(std::string_view tag, const HtmlAttributes& attributes) { Begin(tag, attributes); }

std::string Html::Id(std::string_view wish) {
  std::string id;
  for (const char c : wish) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter || (c >= '0' && c <= '9'))
      id += c;
    else if (!id.empty() && id.back() != '-')
      id += '-';
  }
  if (id.empty() || (id.front() >= '0' && id.front() <= '9')) id = "x" + id;
  std::string free = id;
  for (int number = 2; !ids_.insert(free).second; ++number) free = id + "-" + std::to_string(number);
  return free;
}

std::string Html::Take() {
  RETORT_CHECK(open_.empty());
  return std::move(out_);
}

}  // namespace retort::orchestrator::cli
