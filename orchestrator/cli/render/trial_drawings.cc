#include "orchestrator/cli/render/trial_drawings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "storage/images/png_grid.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kNamedMistakes = 3;

bool IsMatrix(const storage::Evaluation& evaluation) {
  const auto classes = static_cast<std::size_t>(std::max<std::int64_t>(evaluation.classes, 0));
  return classes > 0 && evaluation.confusion.size() == classes * classes;
}

// Examples of the class.
std::uint64_t RowSum(const storage::Evaluation& evaluation, std::int64_t row) {
  std::uint64_t sum = 0;
  for (std::int64_t column = 0; column < evaluation.classes; ++column)
    sum += evaluation.confusion[static_cast<std::size_t>(row * evaluation.classes + column)];
  return sum;
}

// 0 for none, to 4.
int Heat(std::uint32_t count, std::uint64_t row_sum) {
  if (count == 0 || row_sum == 0) return 0;
  const double part = static_cast<double>(count) / static_cast<double>(row_sum);
  return part < 0.05 ? 1 : part < 0.25 ? 2 : part < 0.75 ? 3 : 4;
}

void WriteRow(Html& html, const storage::Evaluation& evaluation, std::int64_t row) {
  const HtmlScope line(html, "tr");
  html.Element("th", std::to_string(row), {{"scope", "row"}});
  const std::uint64_t sum = RowSum(evaluation, row);
  for (std::int64_t column = 0; column < evaluation.classes; ++column) {
    const std::uint32_t count = evaluation.confusion[static_cast<std::size_t>(row * evaluation.classes + column)];
    std::string css = row == column ? "true" : "";
    if (const int heat = Heat(count, sum); heat > 0) css += fmt::format("{}heat-{}", css.empty() ? "" : " ", heat);
    html.Element("td", CountText(count), css.empty() ? HtmlAttributes{} : HtmlAttributes{{"class", css}});
  }
}

void WriteNumbers(Html& html, const storage::Evaluation& evaluation) {
  const HtmlScope box(html, "div",
                      {{"class", "box"}, {"role", "region"}, {"tabindex", "0"}, {"aria-label", "Confusion matrix"}});
  const HtmlScope table(html, "table", {{"class", "confusion"}});
  html.Element("caption", "Confusion matrix: a line is a true class, a column what was answered");
  {
    const HtmlScope head(html, "thead");
    const HtmlScope line(html, "tr");
    html.Element("th", "class", {{"scope", "col"}});
    for (std::int64_t column = 0; column < evaluation.classes; ++column)
      html.Element("th", std::to_string(column), {{"scope", "col"}});
  }
  const HtmlScope body(html, "tbody");
  for (std::int64_t row = 0; row < evaluation.classes; ++row) WriteRow(html, evaluation, row);
}

// White for none of a class, black for all of it.
Result<std::string> GreyImage(const storage::Evaluation& evaluation) {
  storage::TensorBlob image{"confusion", storage::DType::u8, {1, 1, evaluation.classes, evaluation.classes}, {}};
  image.bytes.reserve(evaluation.confusion.size());
  for (std::int64_t row = 0; row < evaluation.classes; ++row) {
    const std::uint64_t sum = std::max<std::uint64_t>(RowSum(evaluation, row), 1);
    for (std::int64_t column = 0; column < evaluation.classes; ++column) {
      const std::uint64_t count = evaluation.confusion[static_cast<std::size_t>(row * evaluation.classes + column)];
      image.bytes.push_back(static_cast<std::uint8_t>(255 - (255 * count + sum - 1) / sum));
    }
  }
  return storage::EncodePngGrid(image);
}

void WriteImage(Html& html, const std::string& trial, const storage::Evaluation& evaluation, std::size_t& drawn_bytes,
                std::size_t most_bytes) {
  const Result<std::string> png = GreyImage(evaluation);
  const std::string bytes = png.ok() ? FormatBase64(*png) : "";
  if (png.ok() && drawn_bytes + bytes.size() <= most_bytes) {
    drawn_bytes += bytes.size();
    const HtmlScope figure(html, "figure");
    html.Void("img", {{"class", "pixels"},
                      {"src", "data:image/png;base64," + bytes},
                      {"alt", "Confusion matrix of " + trial + ": " + DescribeConfusion(evaluation)}});
    html.Element("figcaption", fmt::format("Confusion matrix of {} classes: a line is a true class, a column what was "
                                           "answered; the darker, the larger a part of the class",
                                           evaluation.classes));
  }
}

}  // namespace

std::string DescribeConfusion(const storage::Evaluation& evaluation) {
  std::string words = fmt::format("accuracy {} % of {}", FormatPercent(evaluation.accuracy), CountText(evaluation.n));
  std::vector<std::pair<std::uint32_t, std::size_t>> mistakes;
  const auto classes = static_cast<std::size_t>(evaluation.classes);
  for (std::size_t i = 0; i < evaluation.confusion.size(); ++i)
    if (i / classes != i % classes && evaluation.confusion[i] > 0) mistakes.emplace_back(evaluation.confusion[i], i);
  const std::size_t named = std::min(mistakes.size(), kNamedMistakes);
  std::partial_sort(
      mistakes.begin(), mistakes.begin() + static_cast<std::ptrdiff_t>(named), mistakes.end(),
      [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  for (std::size_t i = 0; i < named; ++i) {
    const auto& [count, place] = mistakes[i];
    words += fmt::format("{} {} was taken for {} ({} {})", i == 0 ? "; most often" : ",", place / classes,
                         place % classes, CountText(count), count == 1 ? "time" : "times");
  }
  return words;
}

void WriteConfusion(Html& html, const std::string& trial, const storage::Evaluation& evaluation,
                    std::size_t& drawn_bytes, std::size_t most_bytes) {
  if (!IsMatrix(evaluation)) return html.Paragraph("The confusion matrix is not square.");
  html.Paragraph("Test: " + DescribeConfusion(evaluation) + ".");
  if (evaluation.classes <= kMaxClassesInTable)
    WriteNumbers(html, evaluation);
  else
    WriteImage(html, trial, evaluation, drawn_bytes, most_bytes);
}

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
  html.Element("text", text, {{"x", fmt::format("{}", x)}, {"y", fmt::format("{}", y)}, {"text-anchor", anchor}});
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
    html.Element("circle", "",
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

std::string DescribeCurve(const std::string& name, const CurvePoints& points) {
  const CurvePoints finite = Finite(points);
  const std::size_t lost = points.size() - finite.size();
  std::string words = name + ": no value";
  if (!finite.empty()) {
    const auto [least, most] = std::minmax_element(finite.begin(), finite.end(), Lower);
    words = fmt::format("{}, {} {} from step {} to {}: {:.4g} at first, {:.4g} at last, between {:.4g} and {:.4g}",
                        name, finite.size(), finite.size() == 1 ? "point" : "points", finite.front().first,
                        finite.back().first, finite.front().second, finite.back().second, least->second, most->second);
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
                         {"aria-label", DescribeCurve(name, points)}});
    WriteLine(html, finite);
  }
  const std::size_t lost = points.size() - finite.size();
  html.Element("figcaption",
               lost == 0 ? name : fmt::format("{} ({} of {} values are not finite)", name, lost, points.size()));
}

namespace {

// The first images, as many as the limits allow.
Result<std::string> EncodeFirst(const storage::TensorBlob& images, const SampleLimits& limits, std::int64_t& count) {
  const std::vector<std::int64_t>& shape = images.shape;
  const bool pictures = images.dtype == storage::DType::u8 && shape.size() == 4 && shape[0] > 0 &&
                        (shape[1] == 1 || shape[1] == 3) && shape[2] > 0 && shape[3] > 0;
  if (!pictures) return Refused("they are no pictures of 1 or 3 channels");
  const auto one = static_cast<std::size_t>(shape[1] * shape[2] * shape[3]);
  const std::size_t most = std::min(limits.images, std::max<std::size_t>(limits.pixel_bytes / one, 1));
  count = std::min(shape[0], static_cast<std::int64_t>(most));
  storage::TensorBlob first{"images", images.dtype, {count, shape[1], shape[2], shape[3]}, {}};
  const auto bytes = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(count) * one);
  if (images.bytes.size() < static_cast<std::size_t>(bytes)) return Refused("some of their pixels are missing");
  first.bytes.assign(images.bytes.begin(), images.bytes.begin() + bytes);
  return storage::EncodePngGrid(first);
}

}  // namespace

void WriteSamples(Html& html, const std::string& trial, const storage::Samples& samples, const SampleLimits& limits,
                  std::size_t& drawn_bytes) {
  std::int64_t count = 0;
  const Result<std::string> png = EncodeFirst(samples.images, limits, count);
  if (!png.ok()) return html.Paragraph("The samples are not shown: " + png.status().message() + ".");
  const std::string bytes = FormatBase64(*png);
  if (drawn_bytes + bytes.size() > limits.most_bytes)
    return html.Paragraph("The samples are not shown: the page has as many pictures as it may hold.");
  drawn_bytes += bytes.size();
  const std::vector<std::int64_t>& shape = samples.images.shape;
  const std::string words =
      fmt::format("{} of {} samples of {}, {} by {} pixels each, in the order in which they were kept", count,
                  CountText(shape[0]), trial, shape[3], shape[2]);
  const HtmlScope figure(html, "figure");
  html.Void("img", {{"class", "pixels"}, {"src", "data:image/png;base64," + bytes}, {"alt", words}});
  html.Element("figcaption", words + (samples.claim.empty() ? "." : ": " + samples.claim + "."));
}

}  // namespace retort::orchestrator::cli
