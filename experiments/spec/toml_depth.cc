#include "experiments/spec/toml_depth.h"

#include <cstddef>

namespace retort {
namespace {

// The end of the string that opens at `at`, behind its closing quotes; of one without an end, the end of its
// line, or of the text.
std::size_t EndOfString(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string_view three = text.substr(at, 3);
  const bool many = three.size() == 3 && three[1] == quote && three[2] == quote;
  for (std::size_t i = at + (many ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (!many && text[i] == '\n') {
      return i;
    } else if (text[i] == quote && (!many || text.substr(i, 3) == three)) {
      i += many ? 3 : 1;
      while (many && i < text.size() && text[i] == quote) ++i;  // a closing run may be longer
      return i;
    }
  }
  return text.size();
}

TextPlace PlaceOf(std::string_view text, std::size_t at) {
  TextPlace place;
  for (std::size_t i = 0; i < at; ++i) {
    place.line += text[i] == '\n' ? 1 : 0;
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;  // a code point
    place.column = text[i] == '\n' ? 1 : place.column + (begins ? 1 : 0);
  }
  return place;
}

}  // namespace

std::optional<TextPlace> FindDeepKey(std::string_view toml) {
  int dots = 0;
  for (std::size_t at = 0; at < toml.size();) {
    switch (toml[at]) {
      case '"':
      case '\'':
        at = EndOfString(toml, at);
        continue;
      case '#':
        while (at < toml.size() && toml[at] != '\n') ++at;
        continue;
      case '.':
        if (++dots >= kMostKeyParts) return PlaceOf(toml, at);
        break;
      case '\n':
      case '=':
      case ',':
      case '{':
      case '}':
      case '[':
      case ']':
        dots = 0;
        break;
      default:
        break;
    }
    ++at;
  }
  return std::nullopt;
}

}  // namespace retort
