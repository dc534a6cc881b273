#include "experiments/base/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace retort {
namespace {

std::string Grouped(std::string digits) {
  const std::size_t point = digits.find('.');
  std::size_t at = point == std::string::npos ? digits.size() : point;
  const std::size_t first = !digits.empty() && digits[0] == '-' ? 1 : 0;
  while (at > first + 3) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

// Shortest digits that read back as the same double.
std::string Scientific(double value) {
  std::array<char, 32> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  return {buffer.data(), end};
}

}  // namespace

std::string FormatEpsilon(double epsilon) {
  if (std::isnan(epsilon) || epsilon == HUGE_VAL) return "∞";
  return Grouped(fmt::format("{:.3f}", epsilon));
}

std::string FormatExactNumber(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string FormatReal(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (const std::size_t e = text.find('e'); e != std::string::npos) {  // 1e+09 as 1e9
    std::size_t digits = e + 1;
    if (text[digits] == '+')
      text.erase(digits, 1);
    else if (text[digits] == '-')
      ++digits;
    while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
  }
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string FormatSixDigits(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 6).ptr;
  return {text.data(), end};
}

std::string FormatThreeDecimals(double value) {
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 3).ptr;
  return {text.data(), end};
}

std::string FormatShortNumber(double value) {
  const bool small = value != 0 && std::abs(value) < 1e-3;
  std::string text = small ? Scientific(value) : fmt::format("{}", value);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) {
    if (text.size() > 2 && text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  }
  std::size_t digit = exponent + 1;
  if (text[digit] == '+') text.erase(digit, 1);
  if (text[digit] == '-') ++digit;
  while (digit + 1 < text.size() && text[digit] == '0') text.erase(digit, 1);
  return text;
}

std::string FormatPercent(double fraction) { return fmt::format("{:.2f}", 100 * fraction); }

std::string CountText(std::int64_t count) { return Grouped(fmt::format("{}", count)); }

std::string FormatTrialCount(std::int64_t count) { return std::to_string(count) + (count == 1 ? " trial" : " trials"); }

std::string FormatBytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string FormatMebibytes(std::uint64_t bytes) {
  char text[32] = {};
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::string FormatDuration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

std::string FormatPaddedDuration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

std::string FormatRoughDuration(double seconds) {
  const double whole = std::ceil(std::max(0.0, seconds));
  if (whole < 100) return fmt::format("{:.0f} s", whole);
  if (whole < 100 * 60) return fmt::format("{:.0f} min", whole / 60);
  if (whole < 48 * 3600) return fmt::format("{:.1f} h", whole / 3600);
  return fmt::format("{:.1f} d", whole / 86400);
}

std::optional<double> ParseFiniteNumber(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> ParseWholeNumber(std::string_view text, std::int64_t max) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || text.starts_with('-') || number > max) return std::nullopt;
  return number;
}

std::optional<double> ParseDuration(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  double number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (parsed.ec != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view unit(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  for (const auto& [name, seconds] : kUnits) {
    if (unit == name) return number * seconds;
  }
  return std::nullopt;
}

}  // namespace retort
