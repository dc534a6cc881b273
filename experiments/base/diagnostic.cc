#include "experiments/base/diagnostic.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

#include "experiments/base/json.h"
#include "experiments/base/printable.h"

namespace retort {
namespace {

constexpr std::size_t kMaxWord = 200;  // longer words are cut before the search: no known word is as long

// Optimal string alignment distance; case, '-' and '_' do not count.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  if (a.size() > kMaxWord) return a.size();
  const auto fold = [](char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = fold(a[i - 1]) == fold(b[j - 1]) ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) && fold(a[i - 2]) == fold(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::pair<std::size_t, std::string>> Ranked(const std::string& word,
                                                        const std::vector<std::string>& candidates) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  ranked.reserve(candidates.size());
  for (const auto& candidate : candidates) ranked.emplace_back(EditDistance(word, candidate), candidate);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return ranked;
}

}  // namespace

std::vector<std::string> FindNearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::vector<std::string> nearest;
  for (auto& [distance, candidate] : Ranked(word, candidates)) {
    const std::size_t longest = std::max(word.size(), candidate.size());
    const bool prefix = word.size() >= 3 && candidate.starts_with(word);
    if (nearest.size() < 3 && (prefix || distance * 5 <= longest * 2)) nearest.push_back(std::move(candidate));
  }
  return nearest;
}

std::vector<std::string> SortByNearness(const std::string& word, const std::vector<std::string>& candidates) {
  std::vector<std::string> all;
  for (auto& [distance, candidate] : Ranked(word, candidates)) all.push_back(std::move(candidate));
  return all;
}

namespace {

constexpr std::size_t kShownColumns = 160;

// REQUIRES: valid UTF-8.
std::size_t CodePoints(std::string_view text) {
  const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

// Returns the source line with a caret below its column, both indented. Of a long line only the part around the caret.
std::string Excerpt(std::string_view line, int number, int column) {
  const std::size_t at = FindCodePoint(line, static_cast<std::size_t>(std::max(column, 1)) - 1);
  const std::string before = MakeOneLine(line.substr(0, at));
  const std::string whole = before + MakeOneLine(line.substr(at));
  const std::size_t caret = CodePoints(before), columns = CodePoints(whole);
  const std::size_t cut = columns - std::min(columns, kShownColumns);
  const std::size_t first = std::min(caret - std::min(caret, kShownColumns / 2), cut);
  const std::size_t begin = FindCodePoint(whole, first), end = FindCodePoint(whole, first + kShownColumns);
  const std::string lead = first > 0 ? "..." : "";
  const std::string shown = lead + whole.substr(begin, end - begin) + (first < cut ? "..." : "");
  const std::string digits = std::to_string(number), blank(digits.size(), ' ');
  return "\n  " + digits + " | " + shown + "\n  " + blank + " | " + std::string(lead.size() + caret - first, ' ') + "^";
}

}  // namespace

std::string Render(const Diagnostic& diagnostic) {
  std::string text = diagnostic.file;
  if (diagnostic.line > 0) {
    text += ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column);
  }
  if (!text.empty()) text += ": ";
  text = MakePrintable(text + diagnostic.message);
  if (!diagnostic.source_line.empty()) text += Excerpt(diagnostic.source_line, diagnostic.line, diagnostic.column);
  if (!diagnostic.choices.empty()) {
    text += "\n  choose: ";
    for (std::size_t i = 0; i < diagnostic.choices.size(); ++i) {
      text += (i == 0 ? "" : ", ") + MakeOneLine(diagnostic.choices[i]);
    }
  }
  return text;
}

std::string FormatErrorsJson(const std::vector<Diagnostic>& errors) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& error : errors) {
    list.push_back({{"message", error.message},
                    {"file", error.file},
                    {"line", error.line},
                    {"column", error.column},
                    {"key", error.key},
                    {"choices", error.choices}});
  }
  const nlohmann::ordered_json document{{"schema_version", 1}, {"errors", std::move(list)}};
  return DumpJson(document, 2);
}

}  // namespace retort
