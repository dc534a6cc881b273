#include "orchestrator/cli/fitted_text.h"

#include <algorithm>
#include <vector>

#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/text_table.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kHang = 2;       // of a line that goes on
constexpr std::size_t kLeastHang = 6;  // of what stands behind a name, where it has lines of its own

bool IsBlank(std::string_view line) { return line.find_first_not_of(' ') == std::string_view::npos; }

bool IsRule(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin != std::string_view::npos && line.find_first_not_of("─", begin) == std::string_view::npos;
}

bool IsCommand(std::string_view line) {
  const std::string_view words = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return words.starts_with("retort ") || words.starts_with("Next: retort ");
}

std::vector<std::string_view> LinesOf(std::string_view text) {
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
  if (DisplayWidth(line) <= width || IsBlank(line) || IsCommand(line)) return std::string(line);
  const std::size_t second = SecondColumn(line);
  if (second == 0) {
    const std::size_t indent = line.find_first_not_of(' ');
    return Block(line.substr(indent), indent > width / 2 ? kLeastHang : indent, kHang, width);
  }
  const std::string_view name = line.substr(0, second), meaning = line.substr(second);
  if (const std::size_t hang = DisplayWidth(name); hang <= width / 2)
    return std::string(name) + Block(meaning, hang, 0, width).substr(hang);
  return FittedLine(name.substr(0, name.find_last_not_of(' ') + 1), width) + "\n" + Block(meaning, kLeastHang, 0, width);
}

}  // namespace

std::string FittedText(std::string_view text, std::size_t width) {
  const std::vector<std::string_view> lines = LinesOf(text);
  const std::vector<bool> in_table = InTables(lines);
  std::string out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    out += in_table[i] ? std::string(lines[i]) : FittedLine(lines[i], width);
  }
  return text.ends_with('\n') ? out + '\n' : out;
}

}  // namespace retort::orchestrator::cli
