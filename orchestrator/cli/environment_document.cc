#include "orchestrator/cli/environment_document.h"

#include <algorithm>

namespace retort::orchestrator::cli {
namespace {

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// The text between pairs of backticks.
std::vector<std::string> CodeIn(std::string_view text) {
  std::vector<std::string> code;
  for (std::size_t at = text.find('`'); at != std::string_view::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string_view::npos) break;
    code.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return code;
}

std::string Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

// "| names | readers | meaning |"
VariableRow RowOf(std::string_view line) {
  const std::size_t second = line.find('|', 1);
  const std::size_t third = line.find('|', second + 1);
  const std::size_t last = line.rfind('|');
  return {CodeIn(line.substr(0, second)), CodeIn(line.substr(second, third - second)),
          Trimmed(line.substr(third + 1, last - third - 1))};
}

}  // namespace

std::vector<VariableRow> VariablesOf(std::string_view document, std::string_view section) {
  std::vector<VariableRow> rows;
  bool inside = false;
  while (!document.empty()) {
    const std::string_view line = TakeLine(document);
    if (line.starts_with("## ")) inside = line.substr(3).starts_with(section);
    if (inside && line.starts_with("| `") && std::count(line.begin(), line.end(), '|') >= 4)
      rows.push_back(RowOf(line));
  }
  return rows;
}

bool ReadBy(const VariableRow& row, const std::string& path) {
  return std::any_of(row.readers.begin(), row.readers.end(), [&path](const std::string& reader) {
    if (path.empty()) return reader.starts_with("retort");
    const std::string of = reader.starts_with("retort ") ? reader.substr(7) : reader;
    return reader == "retort" || of == path || of.starts_with(path + " ");
  });
}

}  // namespace retort::orchestrator::cli
