#include "orchestrator/cli/html_writer.h"

#include <algorithm>
#include <cstdint>

#include "experiments/spec/printable.h"
#include "experiments/spec/status.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string EscapedHtml(std::string_view text) {
  std::string safe;
  safe.reserve(text.size() + text.size() / 8);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = CodePointAt(text, at);
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
    } else if (c == '\n' || c == '\t' || !IsControl(text.substr(at, length))) {
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
