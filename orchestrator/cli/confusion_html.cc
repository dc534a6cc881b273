#include "orchestrator/cli/confusion_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "orchestrator/cli/number_text.h"
#include "storage/png_grid.h"

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
    const std::uint32_t count =
        evaluation.confusion[static_cast<std::size_t>(row * evaluation.classes + column)];
    std::string css = row == column ? "true" : "";
    if (const int heat = Heat(count, sum); heat > 0)
      css += fmt::format("{}heat-{}", css.empty() ? "" : " ", heat);
    html.Element("td", CountText(count), css.empty() ? HtmlAttributes{} : HtmlAttributes{{"class", css}});
  }
}

void WriteNumbers(Html& html, const storage::Evaluation& evaluation) {
  const HtmlScope box(
      html, "div",
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
Result<std::string> GreyPicture(const storage::Evaluation& evaluation) {
  storage::TensorBlob image{
      "confusion", storage::DType::u8, {1, 1, evaluation.classes, evaluation.classes}, {}};
  image.bytes.reserve(evaluation.confusion.size());
  for (std::int64_t row = 0; row < evaluation.classes; ++row) {
    const std::uint64_t sum = std::max<std::uint64_t>(RowSum(evaluation, row), 1);
    for (std::int64_t column = 0; column < evaluation.classes; ++column) {
      const std::uint64_t count =
          evaluation.confusion[static_cast<std::size_t>(row * evaluation.classes + column)];
      image.bytes.push_back(static_cast<std::uint8_t>(255 - (255 * count + sum - 1) / sum));
    }
  }
  return storage::EncodePngGrid(image);
}

void WritePicture(Html& html, const std::string& trial, const storage::Evaluation& evaluation,
                  std::size_t& picture_bytes, std::size_t most_bytes) {
  const Result<std::string> png = GreyPicture(evaluation);
  const std::string bytes = png.ok() ? Base64(*png) : "";
  if (png.ok() && picture_bytes + bytes.size() <= most_bytes) {
    picture_bytes += bytes.size();
    const HtmlScope figure(html, "figure");
    html.Void("img", {{"class", "pixels"},
                      {"src", "data:image/png;base64," + bytes},
                      {"alt", "Confusion matrix of " + trial + ": " + ConfusionWords(evaluation)}});
    html.Element("figcaption",
                 fmt::format("Confusion matrix of {} classes: a line is a true class, a column what was "
                             "answered; the darker, the larger a part of the class",
                             evaluation.classes));
  }
}

}  // namespace

std::string ConfusionWords(const storage::Evaluation& evaluation) {
  std::string words =
      fmt::format("accuracy {} % of {}", PercentText(evaluation.accuracy), CountText(evaluation.n));
  std::vector<std::pair<std::uint32_t, std::size_t>> mistakes;
  const auto classes = static_cast<std::size_t>(evaluation.classes);
  for (std::size_t i = 0; i < evaluation.confusion.size(); ++i)
    if (i / classes != i % classes && evaluation.confusion[i] > 0)
      mistakes.emplace_back(evaluation.confusion[i], i);
  const std::size_t named = std::min(mistakes.size(), kNamedMistakes);
  std::partial_sort(mistakes.begin(), mistakes.begin() + static_cast<std::ptrdiff_t>(named), mistakes.end(),
                    [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first > b.first : a.second < b.second;
                    });
  for (std::size_t i = 0; i < named; ++i) {
    const auto& [count, place] = mistakes[i];
    words += fmt::format("{} {} was taken for {} ({} {})", i == 0 ? "; most often" : ",", place / classes,
                         place % classes, CountText(count), count == 1 ? "time" : "times");
  }
  return words;
}

void WriteConfusion(Html& html, const std::string& trial, const storage::Evaluation& evaluation,
                    std::size_t& picture_bytes, std::size_t most_bytes) {
  if (!IsMatrix(evaluation)) return html.Paragraph("The confusion matrix is not square.");
  html.Paragraph("Test: " + ConfusionWords(evaluation) + ".");
  if (evaluation.classes <= kMostClassesInTable)
    WriteNumbers(html, evaluation);
  else
    WritePicture(html, trial, evaluation, picture_bytes, most_bytes);
}

}  // namespace retort::orchestrator::cli
