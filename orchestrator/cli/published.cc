#include "orchestrator/cli/published.h"

#include <algorithm>
#include <set>
#include <utility>

#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/published_data.h"

namespace retort::orchestrator::cli {
namespace {

// One line of RFC 4180 text without line breaks inside quotes.
std::vector<std::string> SplitCsvLine(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

// Counts are printed as 4.97K and 0.15M; their digits are exact in decimal, so the unit moves the exponent.
std::optional<double> ParseCount(const std::string& text) {
  if (text.ends_with('K')) return NumberIn(text.substr(0, text.size() - 1) + "e3");
  if (text.ends_with('M')) return NumberIn(text.substr(0, text.size() - 1) + "e6");
  return NumberIn(text);
}

}  // namespace

std::vector<PublishedValue> ParsePublished(std::string_view csv) {
  std::vector<PublishedValue> values;
  bool header = true;
  while (!csv.empty()) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::exchange(header, false) || line.empty()) continue;
    const std::vector<std::string> fields = SplitCsvLine(line);
    if (fields.size() != 10) continue;
    const std::optional<double> number = ParseCount(fields[8]);
    if (!number) continue;
    values.push_back({fields[0], fields[1], fields[2], fields[3], NumberIn(fields[4]),
                      NumberIn(fields[5]).value_or(0), fields[6], fields[7], *number, fields[9], fields[8]});
  }
  return values;
}

const std::vector<PublishedValue>& AllPublished() {
  static const std::vector<PublishedValue> all = ParsePublished(PublishedCsv());
  return all;
}

std::vector<PublishedValue> PublishedTable(std::string_view paper_and_table) {
  if (paper_and_table.empty()) return {};
  std::vector<PublishedValue> values = AllPublished();
  std::erase_if(values, [&](const PublishedValue& value) {
    return value.paper + "/" + value.table != paper_and_table;
  });
  return values;
}

std::vector<std::string> PublishedTableNames() {
  std::set<std::string> names;
  for (const PublishedValue& value : AllPublished()) names.insert(value.paper + "/" + value.table);
  return {names.begin(), names.end()};
}

std::string PublishedName(const PublishedValue& value) {
  std::string name = value.approach;
  if (!value.setting.empty()) name += ", " + value.setting;
  if (!value.dataset.empty()) name += ", " + value.dataset;
  if (value.epsilon) name += ", ε = " + ShortNumber(*value.epsilon);
  return name + " in " + value.paper + "/" + value.table;
}

std::string PublishedNote(const PublishedValue& value) {
  return value.note.empty() ? "" : value.paper + "/" + value.table + ": " + value.note;
}

}  // namespace retort::orchestrator::cli
