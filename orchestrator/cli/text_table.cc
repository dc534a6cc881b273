#include "orchestrator/cli/text_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "experiments/spec/status.h"
#include "orchestrator/cli/number_text.h"

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
    cells[i].width = DisplayWidth(cells[i].text);
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
    if (has_word && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
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

}  // namespace retort::orchestrator::cli
