#include "orchestrator/cli/curve_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "orchestrator/cli/number_text.h"

namespace retort::orchestrator::cli {
namespace {

// In the drawing's own unit, which is about a pixel.
constexpr double kWidth = 300, kHeight = 120, kLeft = 4, kRight = 296, kTop = 18, kBottom = 100;
constexpr std::size_t kDrawn = 200;

CurvePoints Finite(const CurvePoints& points) {
  CurvePoints finite;
  std::copy_if(points.begin(), points.end(), std::back_inserter(finite),
               [](const auto& point) { return std::isfinite(point.second); });
  return finite;
}

bool Lower(const CurvePoints::value_type& a, const CurvePoints::value_type& b) { return a.second < b.second; }

// Of each stretch the least and the largest value, in their order.
CurvePoints Thinned(const CurvePoints& points) {
  if (points.size() <= kDrawn) return points;
  CurvePoints kept = {points.front()};
  const std::size_t stretches = kDrawn / 2;
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(points.size() * i / stretches);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(points.size() * (i + 1) / stretches);
    auto [low, high] = std::minmax_element(begin, end, Lower);
    if (high < low) std::swap(low, high);
    for (const auto& point : {*low, *high})
      if (point.first > kept.back().first) kept.push_back(point);
  }
  if (points.back().first > kept.back().first) kept.push_back(points.back());
  return kept;
}

// Where points lie in the drawing.
struct Frame {
  double first = 0, steps = 1;
  double low = 0, range = 1;  // halves, whose difference is a number whatever they are
  explicit Frame(const CurvePoints& points) {
    const auto [least, most] = std::minmax_element(points.begin(), points.end(), Lower);
    first = static_cast<double>(points.front().first);
    steps = std::max(1.0, static_cast<double>(points.back().first) - first);
    low = least->second / 2;
    range = most->second / 2 - low;
  }
  [[nodiscard]] std::string Place(const CurvePoints::value_type& point) const {
    const double x = kLeft + (kRight - kLeft) * (static_cast<double>(point.first) - first) / steps;
    const double part = range > 0 ? (point.second / 2 - low) / range : 0.5;
    return fmt::format("{:.1f},{:.1f}", x, kBottom - (kBottom - kTop) * part);
  }
};

void WriteLabel(Html& html, const char* anchor, double x, double y, const std::string& text) {
  html.Element("text", text,
               {{"x", fmt::format("{}", x)}, {"y", fmt::format("{}", y)}, {"text-anchor", anchor}});
}

void WriteLine(Html& html, const CurvePoints& points) {
  const Frame frame(points);
  html.Element("rect", "",
               {{"class", "frame"},
                {"x", fmt::format("{}", kLeft - 3)},
                {"y", fmt::format("{}", kTop - 4)},
                {"width", fmt::format("{}", kRight - kLeft + 6)},
                {"height", fmt::format("{}", kBottom - kTop + 8)}});
  std::string places;
  for (const auto& point : Thinned(points)) places += (places.empty() ? "" : " ") + frame.Place(point);
  if (points.size() == 1) {
    const std::size_t comma = places.find(',');
    html.Element(
        "circle", "",
        {{"class", "dot"}, {"cx", places.substr(0, comma)}, {"cy", places.substr(comma + 1)}, {"r", "3"}});
  } else {
    html.Element("polyline", "", {{"class", "curve"}, {"points", places}});
  }
  const auto [least, most] = std::minmax_element(points.begin(), points.end(), Lower);
  WriteLabel(html, "start", kLeft, kTop - 7, fmt::format("{:.4g} to {:.4g}", least->second, most->second));
  WriteLabel(html, "end", kRight, kTop - 7, fmt::format("last {:.4g}", points.back().second));
  WriteLabel(html, "start", kLeft, kHeight - 3, "step " + CountText(points.front().first));
  WriteLabel(html, "end", kRight, kHeight - 3, CountText(points.back().first));
}

}  // namespace

std::string CurveWords(const std::string& name, const CurvePoints& points) {
  const CurvePoints finite = Finite(points);
  const std::size_t lost = points.size() - finite.size();
  std::string words = name + ": no value";
  if (!finite.empty()) {
    const auto [least, most] = std::minmax_element(finite.begin(), finite.end(), Lower);
    words = fmt::format(
        "{}, {} {} from step {} to {}: {:.4g} at first, {:.4g} at last, between {:.4g} and {:.4g}", name,
        finite.size(), finite.size() == 1 ? "point" : "points", finite.front().first, finite.back().first,
        finite.front().second, finite.back().second, least->second, most->second);
  }
  if (lost > 0) words += fmt::format("; {} {} not finite", lost, lost == 1 ? "value is" : "values are");
  return words;
}

void WriteCurve(Html& html, const std::string& name, const CurvePoints& points) {
  const HtmlScope figure(html, "figure", {{"class", "chart"}});
  const CurvePoints finite = Finite(points);
  if (!finite.empty()) {
    const HtmlScope svg(html, "svg",
                        {{"viewBox", fmt::format("0 0 {} {}", kWidth, kHeight)},
                         {"role", "img"},
                         {"aria-label", CurveWords(name, points)}});
    WriteLine(html, finite);
  }
  const std::size_t lost = points.size() - finite.size();
  html.Element(
      "figcaption",
      lost == 0 ? name : fmt::format("{} ({} of {} values are not finite)", name, lost, points.size()));
}

}  // namespace retort::orchestrator::cli
