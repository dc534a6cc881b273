#include "experiments/privacy/number_text.h"

#include <array>
#include <charconv>

namespace retort::privacy {

std::string ExactNumber(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string ShortNumber(double value) {
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6).ptr;
  return {text.data(), end};
}

std::string ThreeDecimals(double value) {
  std::array<char, 400> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 3).ptr;
  return {text.data(), end};
}

}  // namespace retort::privacy
