#include "orchestrator/cli/render/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "experiments/base/status.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kGap = 2;

}  // namespace

TextTable::TextTable(std::vector<std::string> header, std::vector<Align> align)
    : widths_(header.size()), header_(Measured(std::move(header))), align_(std::move(align)) {
  align_.resize(header_.size(), Align::left);
}

std::vector<TextTable::Cell> TextTable::Measured(std::vector<std::string> texts) {
  std::vector<Cell> cells(widths_.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    cells[i] = {std::move(texts[i]), 0};
    cells[i].width = MeasureDisplayWidth(cells[i].text);
    widths_[i] = std::max(widths_[i], cells[i].width);
  }
  return cells;
}

void TextTable::Add(std::vector<std::string> cells) {
  RETORT_CHECK(cells.size() <= header_.size());
  lines_.push_back({false, Measured(std::move(cells))});
}

void TextTable::AddRule() { lines_.push_back({true, {}}); }

std::size_t TextTable::Width() const {
  const std::size_t gaps = widths_.empty() ? 0 : kGap * (widths_.size() - 1);
  return std::accumulate(widths_.begin(), widths_.end(), gaps);
}

void TextTable::AppendLine(const std::vector<Cell>& cells, std::size_t indent, std::string& out) const {
  out.append(indent, ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out.append(kGap, ' ');
    const std::size_t fill = widths_[i] - cells[i].width;
    if (align_[i] == Align::right) out.append(fill, ' ');
    out += cells[i].text;
    if (align_[i] == Align::left) out.append(fill, ' ');
  }
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

std::string TextTable::Render(std::size_t indent) const {
  std::string rule(indent, ' ');
  for (std::size_t i = 0; i < Width(); ++i) rule += "─";
  rule += '\n';
  std::string out;
  AppendLine(header_, indent, out);
  out += rule;
  for (const Line& line : lines_) {
    if (line.rule)
      out += rule;
    else
      AppendLine(line.cells, indent, out);
  }
  return out;
}

namespace {

// Where the word ends that begins at `begin`.
std::size_t EndOfWord(const std::string& text, std::size_t begin) {
  std::size_t at = begin;
  while (at < text.size() && text[at] != ' ') {
    const std::size_t close = text[at] == '`' ? text.find('`', at + 1) : std::string::npos;
    at = close == std::string::npos ? at + 1 : close + 1;
  }
  return at;
}

}  // namespace

std::string Wrap(const std::string& text, std::size_t width, std::size_t hang) {
  std::string out, line;
  bool has_word = false;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = EndOfWord(text, begin);
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (has_word && MeasureDisplayWidth(line) + 1 + MeasureDisplayWidth(word) > width) {
      out += line + '\n';
      line = std::string(hang, ' ');
      has_word = false;
    }
    if (has_word) line += ' ';
    line += word;
    has_word = true;
  }
  return out + line;
}

namespace {

constexpr std::size_t kHang = 2;     // of a line that goes on
constexpr std::size_t kMinHang = 6;  // of what stands behind a name, where it has lines of its own

bool IsBlank(std::string_view line) { return line.find_first_not_of(' ') == std::string_view::npos; }

bool IsRule(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin != std::string_view::npos && line.find_first_not_of("─", begin) == std::string_view::npos;
}

bool IsCommand(std::string_view line) {
  const std::string_view words = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return words.starts_with("retort ") || words.starts_with("Next: retort ");
}

std::vector<std::string_view> MakeLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

// From its header to the next blank line.
std::vector<bool> InTables(const std::vector<std::string_view>& lines) {
  std::vector<bool> inside(lines.size(), false);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (!IsRule(lines[i])) continue;
    inside[i - 1] = true;
    for (; i < lines.size() && !IsBlank(lines[i]); ++i) inside[i] = true;
  }
  return inside;
}

// Where the text begins that two spaces or more set off from what is before it; 0 where there is none.
std::size_t SecondColumn(std::string_view line) {
  const std::size_t name = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", name);
  const std::size_t begin = line.find_first_not_of(' ', gap);
  return gap == std::string_view::npos || begin == std::string_view::npos ? 0 : begin;
}

// `text` in lines of its own behind `indent` spaces, the later ones behind `hang` more.
std::string Block(std::string_view text, std::size_t indent, std::size_t hang, std::size_t width) {
  const std::string margin(indent, ' ');
  std::string out = margin;
  for (const char letter : Wrap(std::string(text), width - indent, hang)) {
    out += letter;
    if (letter == '\n') out += margin;
  }
  return out;
}

std::string FittedLine(std::string_view line, std::size_t width) {
  if (MeasureDisplayWidth(line) <= width || IsBlank(line) || IsCommand(line)) return std::string(line);
  const std::size_t second = SecondColumn(line);
  if (second == 0) {
    const std::size_t indent = line.find_first_not_of(' ');
    return Block(line.substr(indent), indent > width / 2 ? kMinHang : indent, kHang, width);
  }
  const std::string_view name = line.substr(0, second), meaning = line.substr(second);
  if (const std::size_t hang = MeasureDisplayWidth(name); hang <= width / 2)
    return std::string(name) + Block(meaning, hang, 0, width).substr(hang);
  return FittedLine(name.substr(0, name.find_last_not_of(' ') + 1), width) + "\n" + Block(meaning, kMinHang, 0, width);
}

}  // namespace

std::string FitText(std::string_view text, std::size_t width) {
  const std::vector<std::string_view> lines = MakeLines(text);
  const std::vector<bool> in_table = InTables(lines);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    out += in_table[i] ? std::string(lines[i]) : FittedLine(lines[i], width);
  }
  return text.ends_with('\n') ? out + '\n' : out;
}

}  // namespace retort::orchestrator::cli
