#include "orchestrator/cli/text_table.h"

#include <algorithm>
#include <utility>

#include "experiments/spec/status.h"
#include "orchestrator/cli/number_text.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kGap = 2;

std::string Pad(const std::string& text, std::size_t width, Align align) {
  const std::string fill(width - std::min(width, DisplayWidth(text)), ' ');
  return align == Align::left ? text + fill : fill + text;
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header, std::vector<Align> align)
    : header_(std::move(header)), align_(std::move(align)) {
  align_.resize(header_.size(), Align::left);
}

void TextTable::Add(std::vector<std::string> cells) {
  RETORT_CHECK(cells.size() <= header_.size());
  cells.resize(header_.size());
  lines_.push_back({false, std::move(cells)});
}

void TextTable::AddRule() { lines_.push_back({true, {}}); }

std::vector<std::size_t> TextTable::ColumnWidths() const {
  std::vector<std::size_t> widths;
  for (const std::string& name : header_) widths.push_back(DisplayWidth(name));
  for (const Line& line : lines_)
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      widths[i] = std::max(widths[i], DisplayWidth(line.cells[i]));
  return widths;
}

std::size_t TextTable::Width() const {
  std::size_t width = header_.empty() ? 0 : kGap * (header_.size() - 1);
  for (const std::size_t column : ColumnWidths()) width += column;
  return width;
}

std::string TextTable::Render(std::size_t indent) const {
  const std::vector<std::size_t> widths = ColumnWidths();
  const std::string margin(indent, ' ');
  std::string rule = margin;
  for (std::size_t i = 0; i < Width(); ++i) rule += "─";
  std::string out;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line = margin;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      line += Pad(cells[i], widths[i], align_[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  append(header_);
  out += rule + '\n';
  for (const Line& line : lines_) {
    if (line.rule)
      out += rule + '\n';
    else
      append(line.cells);
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
