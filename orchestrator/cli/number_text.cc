#include "orchestrator/cli/number_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "orchestrator/screen_text.h"

namespace retort::orchestrator::cli {
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

std::string EpsilonText(double epsilon) {
  if (std::isnan(epsilon) || epsilon == HUGE_VAL) return "∞";
  return Grouped(fmt::format("{:.3f}", epsilon));
}

std::string ShortNumber(double value) {
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

std::string PercentText(double fraction) { return fmt::format("{:.2f}", 100 * fraction); }

std::string CountText(std::int64_t count) { return Grouped(fmt::format("{}", count)); }

std::string TrialsText(std::int64_t count) { return std::to_string(count) + (count == 1 ? " trial" : " trials"); }

std::string BytesText(std::uint64_t bytes) {
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

std::string DurationText(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 48 * 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

std::optional<double> NumberIn(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (true) {
    const std::size_t escape = text.find('\x1b');
    width += Columns(text.substr(0, escape));
    const std::size_t end = escape == std::string_view::npos ? escape : text.find('m', escape);
    if (end == std::string_view::npos) return width;
    text.remove_prefix(end + 1);
  }
}

}  // namespace retort::orchestrator::cli
