#include "orchestrator/plot/scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

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

int CountDecimals(double step) {
  for (int decimals = 0; decimals < 12; ++decimals) {
    const double scaled = step * std::pow(10, decimals);
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 12;
}

}  // namespace

std::vector<Tick> MakeLinearTicks(Range range, int most) {
  if (!(range.span() > 0)) return {{range.low, FormatAxisNumber(range.low)}};
  double step = NiceStep(range.span() / std::max(1, most));
  const auto count = [&range](double s) {
    return std::floor(range.high / s + kSlack) - std::ceil(range.low / s - kSlack) + 1;
  };
  while (count(step) > std::max(2, most)) step = NiceStep(step * 1.01);
  const bool plain = std::max(std::abs(range.low), std::abs(range.high)) < 1e7 && step >= 1e-5;
  const int decimals = CountDecimals(step);
  std::vector<Tick> ticks;
  const auto first = static_cast<long long>(std::ceil(range.low / step - kSlack));
  for (long long i = first; static_cast<double>(i) * step <= range.high + kSlack * step; ++i) {
    const double at = static_cast<double>(i) * step;
    ticks.push_back({at, plain ? Fixed(at, decimals) : FormatAxisNumber(at)});
  }
  return ticks;
}

std::vector<Tick> MakeLogTicks(Range range, int most) {
  const int first = static_cast<int>(std::ceil(std::log10(range.low) - kSlack));
  const int last = static_cast<int>(std::floor(std::log10(range.high) + kSlack));
  std::vector<Tick> ticks;
  if (last - first + 1 >= 3) {
    const int stride = (last - first) / std::max(1, most) + 1;
    for (int power = first; power <= last; power += stride)
      ticks.push_back({std::pow(10, power), FormatAxisNumber(std::pow(10, power))});
    return ticks;
  }
  for (int power = first - 1; power <= last; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double at = factor * std::pow(10, power);
      const bool inside = at >= range.low * (1 - kSlack) && at <= range.high * (1 + kSlack);
      if (inside) ticks.push_back({at, FormatAxisNumber(at)});
    }
  }
  return ticks.size() < 2 ? MakeLinearTicks(range, most) : ticks;
}

std::vector<double> MakeLogMinorTicks(Range range) {
  std::vector<double> at;
  const int first = static_cast<int>(std::floor(std::log10(range.low)));
  const int last = static_cast<int>(std::floor(std::log10(range.high)));
  for (int power = first; power <= last; ++power)
    for (int factor = 2; factor <= 9; ++factor)
      if (range.Holds(factor * std::pow(10, power))) at.push_back(factor * std::pow(10, power));
  return at;
}

std::string FormatAxisNumber(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e-3 && size < 1e6) return Grouped(fmt::format("{}", std::stod(fmt::format("{:.6g}", value))));
  auto exponent = static_cast<int>(std::floor(std::log10(size) + kSlack));
  const double mantissa = value / std::pow(10, exponent);
  if (std::abs(std::abs(mantissa) - 1) < 1e-6) return (value < 0 ? "-10" : "10") + Superscript(exponent);
  return fmt::format("{:.3g}×10{}", mantissa, Superscript(exponent));
}

namespace {

constexpr std::size_t kMaxSweptTicks = 9;
constexpr double kBetweenLabels = 6;  // points
constexpr double kRoom = 16;          // points, beyond the first and the last value
constexpr double kMapRoom = 1.06;     // times how far the farthest point of a map is from 0

struct Extent {
  double low = HUGE_VAL, high = -HUGE_VAL;
  bool above_zero_only = false;
  void Add(double value) {
    if (!std::isfinite(value) || (above_zero_only && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  [[nodiscard]] bool empty() const { return low > high; }
};

template <typename F>
void EachPoint(const Chart& chart, F visit) {
  for (const Panel& panel : chart.panels)
    for (const Line& line : panel.lines) {
      for (const Point& point : line.points) visit(point);
      for (const Point& point : line.published) visit(point);
    }
}

// A range of some width, with `share` of it as room on either side; in the logarithm where that is drawn.
Range Padded(Extent extent, bool logarithmic, double share) {
  if (extent.empty()) return logarithmic ? Range{1, 10} : Range{0, 1};
  if (logarithmic) {
    double low = std::log10(extent.low), high = std::log10(extent.high);
    if (high - low < 1e-9) low -= 0.5, high += 0.5;
    const double room = share * (high - low);
    return {std::pow(10, low - room), std::pow(10, high + room)};
  }
  if (extent.high - extent.low <= 1e-12 * std::max(std::abs(extent.low), std::abs(extent.high))) {
    const double half = extent.low == 0 ? 0.5 : 0.1 * std::abs(extent.low);
    return {extent.low - half, extent.high + half};
  }
  const double room = share * (extent.high - extent.low);
  return {extent.low - room, extent.high + room};
}

void Clamp(Range& range, const Axis& axis) {
  if (axis.least) range.low = std::max(range.low, *axis.least);
  if (axis.most) range.high = std::min(range.high, *axis.most);
}

std::set<double> SweptValues(const Chart& chart) {
  std::set<double> values;
  EachPoint(chart, [&values](const Point& point) { values.insert(point.x); });
  for (const Panel& panel : chart.panels)
    for (const Line& line : panel.lines) values.insert(line.gaps.begin(), line.gaps.end());
  return values;
}

// Whether the labels stand apart along `length` points.
bool Apart(const Scale& scale, const std::vector<Tick>& ticks, double length, Font font, const TextMeasure& measure) {
  double end = -HUGE_VAL;
  for (const Tick& tick : ticks) {
    const double centre = scale.At(tick.at) * length, half = measure.Width(tick.label, font) / 2;
    if (centre - half < end + kBetweenLabels) return false;
    end = centre + half;
  }
  return true;
}

std::vector<Tick> PlainTicks(const Scale& scale, int most) {
  return scale.logarithmic ? MakeLogTicks(scale.range, most) : MakeLinearTicks(scale.range, most);
}

void PutNumberTicks(const Chart& chart, double length, Font font, const TextMeasure& measure, Scale& scale) {
  const std::set<double> values = SweptValues(chart);
  if (chart.marks == Marks::points && values.size() <= kMaxSweptTicks) {
    for (const double value : values) scale.ticks.push_back({value, FormatAxisNumber(value)});
    if (Apart(scale, scale.ticks, length, font, measure)) return;
  }
  for (int most = 9; most >= 2; --most) {
    scale.ticks = PlainTicks(scale, most);
    if (Apart(scale, scale.ticks, length, font, measure)) return;
  }
}

Extent FindCentre(const Chart& chart) {
  Extent centre;
  centre.above_zero_only = chart.y.logarithmic;
  EachPoint(chart, [&centre](const Point& point) {
    centre.Add(point.y);
    for (const double single : point.singles) centre.Add(single);
  });
  for (const Panel& panel : chart.panels)
    for (const Rule& rule : panel.rules) centre.Add(rule.y);
  return centre;
}

// With the intervals, none of which reaches further from `centre` than its own width again.
Extent WithIntervals(const Chart& chart, Extent centre) {
  if (centre.empty()) return centre;
  Extent all = centre;
  const double reach = std::max(centre.high - centre.low, 0.05 * std::abs(centre.high));
  EachPoint(chart, [&](const Point& point) {
    if (!point.interval) return;
    all.Add(std::max(point.interval->low, centre.low - reach));
    all.Add(std::min(point.interval->high, centre.high + reach));
  });
  return all;
}

}  // namespace

double Scale::At(double value) const {
  if (!logarithmic) return (value - range.low) / range.span();
  if (value <= 0) return -1;
  return std::log(value / range.low) / std::log(range.high / range.low);
}

Scale MakeHorizontalScale(const Chart& chart, double length, Font font, const TextMeasure& measure) {
  Scale scale;
  const std::vector<std::string>& categories = chart.x.categories;
  if (!categories.empty()) {
    scale.range = {-0.5, static_cast<double>(categories.size()) - 0.5};
    for (std::size_t i = 0; i < categories.size(); ++i) scale.ticks.push_back({static_cast<double>(i), categories[i]});
    return scale;
  }
  scale.logarithmic = chart.x.logarithmic;
  Extent extent;
  extent.above_zero_only = scale.logarithmic;
  for (const double value : SweptValues(chart)) extent.Add(value);
  scale.range = Padded(extent, scale.logarithmic, chart.marks == Marks::curves ? 0 : kRoom / length);
  if (scale.logarithmic) scale.minor = MakeLogMinorTicks(scale.range);
  PutNumberTicks(chart, length, font, measure, scale);
  return scale;
}

Scale MakeVerticalScale(const Chart& chart, double length, Font font) {
  Scale scale;
  scale.logarithmic = chart.y.logarithmic;
  Extent extent = WithIntervals(chart, FindCentre(chart));
  const bool from_zero = chart.marks == Marks::bars && !scale.logarithmic;
  if (from_zero) extent.Add(0);
  scale.range = Padded(extent, scale.logarithmic, 0.06);
  Clamp(scale.range, chart.y);
  if (from_zero && extent.low >= 0) scale.range.low = 0;
  if (!(scale.range.span() > 0)) scale.range.high = scale.range.low + 1;
  if (scale.logarithmic) scale.minor = MakeLogMinorTicks(scale.range);
  scale.ticks = PlainTicks(scale, std::max(2, static_cast<int>(length / (3.2 * font.size))));
  return scale;
}

Scale MapScale(const Chart& chart) {
  double reach = 0;
  EachPoint(chart, [&reach](const Point& point) { reach = std::max({reach, std::abs(point.x), std::abs(point.y)}); });
  if (!(reach > 0)) reach = 1;
  Scale scale;
  scale.range = {-kMapRoom * reach, kMapRoom * reach};
  return scale;
}

}  // namespace retort::orchestrator::plot
