#include "orchestrator/plot/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace retort::orchestrator::plot {
namespace {

// A rounding error on either side of an end still counts as the end.
constexpr double kSlack = 1e-9;

std::string Superscript(int exponent) {
  static const char* const kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[digit - '0'];
  return text;
}

std::string Grouped(std::string digits) {
  std::size_t at = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  while (at > first + 3) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Fixed(double value, int decimals) {
  std::string text = Grouped(fmt::format("{:.{}f}", value, decimals));
  return text == "-0" ? "0" : text;
}

// The least 1, 2, 2.5 or 5 times a power of ten that is at least `step`.
double NiceStep(double step) {
  const double power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= step * (1 - kSlack)) return factor * power;
  return 10 * power;
}

int DecimalsOf(double step) {
  for (int decimals = 0; decimals < 12; ++decimals) {
    const double scaled = step * std::pow(10, decimals);
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 12;
}

}  // namespace

std::vector<Tick> LinearTicks(Range range, int most) {
  if (!(range.span() > 0)) return {{range.low, AxisNumber(range.low)}};
  double step = NiceStep(range.span() / std::max(1, most));
  const auto count = [&range](double s) {
    return std::floor(range.high / s + kSlack) - std::ceil(range.low / s - kSlack) + 1;
  };
  while (count(step) > std::max(2, most)) step = NiceStep(step * 1.01);
  const bool plain = std::max(std::abs(range.low), std::abs(range.high)) < 1e7 && step >= 1e-5;
  const int decimals = DecimalsOf(step);
  std::vector<Tick> ticks;
  const auto first = static_cast<long long>(std::ceil(range.low / step - kSlack));
  for (long long i = first; static_cast<double>(i) * step <= range.high + kSlack * step; ++i) {
    const double at = static_cast<double>(i) * step;
    ticks.push_back({at, plain ? Fixed(at, decimals) : AxisNumber(at)});
  }
  return ticks;
}

std::vector<Tick> LogTicks(Range range, int most) {
  const int first = static_cast<int>(std::ceil(std::log10(range.low) - kSlack));
  const int last = static_cast<int>(std::floor(std::log10(range.high) + kSlack));
  std::vector<Tick> ticks;
  if (last - first + 1 >= 3) {
    const int stride = (last - first) / std::max(1, most) + 1;
    for (int power = first; power <= last; power += stride)
      ticks.push_back({std::pow(10, power), AxisNumber(std::pow(10, power))});
    return ticks;
  }
  for (int power = first - 1; power <= last; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double at = factor * std::pow(10, power);
      const bool inside = at >= range.low * (1 - kSlack) && at <= range.high * (1 + kSlack);
      if (inside) ticks.push_back({at, AxisNumber(at)});
    }
  }
  return ticks.size() < 2 ? LinearTicks(range, most) : ticks;
}

std::vector<double> LogMinorTicks(Range range) {
  std::vector<double> at;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::floor(std::log10(range.high)));
  for (int power = first; power <= last; ++power)
    for (int factor = 2; factor <= 9; ++factor)
      if (range.Holds(factor * std::pow(10, power))) at.push_back(factor * std::pow(10, power));
  return at;
}

std::string AxisNumber(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e-3 && size < 1e6) return Grouped(fmt::format("{}", std::stod(fmt::format("{:.6g}", value))));
  auto exponent = static_cast<int>(std::floor(std::log10(size) + kSlack));
  const double mantissa = value / std::pow(10, exponent);
  if (std::abs(std::abs(mantissa) - 1) < 1e-6) return (value < 0 ? "-10" : "10") + Superscript(exponent);
  return fmt::format("{:.3g}×10{}", mantissa, Superscript(exponent));
}

}  // namespace retort::orchestrator::plot
