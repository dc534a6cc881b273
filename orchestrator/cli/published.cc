#include "orchestrator/cli/published.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

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

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Methods of one paper share an approach; the setting tells them apart.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSettings = {
    {{"dpsd-data", "data-sensitive"},
     {"dpsd-label", "label-sensitive"},
     {"dpsd-t", "discriminator=teacher"}}};

bool SameNumber(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

bool Fits(const PublishedValue& value, const PublishedKey& key) {
  if (value.dataset != key.dataset || value.metric != key.metric) return false;
  if (value.approach != ApproachName(key.method)) return false;
  if (value.epsilon.has_value() != key.epsilon.has_value()) return false;
  if (value.epsilon && !SameNumber(*value.epsilon, *key.epsilon)) return false;
  constexpr std::string_view kOfTeacher = "teacher=";
  if (value.setting.starts_with(kOfTeacher) && value.setting.substr(kOfTeacher.size()) != key.teacher) return false;
  for (const auto& [method, setting] : kSettings)
    if (method == key.method && !value.setting.empty() && value.setting != setting) return false;
  return true;
}

std::vector<PublishedValue> AllPublished() {
  std::vector<PublishedValue> all;
  for (const std::string_view csv : PublishedCsv())
    for (PublishedValue& value : ParsePublished(csv)) all.push_back(std::move(value));
  return all;
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
    if (fields.size() < 9) continue;
    const std::optional<double> number = ParseNumber(fields[8]);
    if (!number) continue;
    values.push_back({fields[0], fields[1], fields[2], fields[3], ParseNumber(fields[4]),
                      ParseNumber(fields[5]).value_or(0), fields[6], fields[7], *number});
  }
  return values;
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

std::optional<double> FindPublished(const std::vector<PublishedValue>& values, const PublishedKey& key) {
  std::optional<double> found;
  for (const PublishedValue& value : values) {
    if (!Fits(value, key)) continue;
    if (found && *found != value.value) return std::nullopt;
    found = value.value;
  }
  return found;
}

std::string ApproachName(std::string_view method) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kNames = {
      {{"teacher", "Teacher"},
       {"dpsd-data", "DPSD"},
       {"dpsd-label", "DPSD"},
       {"dpsd-t", "DPSD-T"},
       {"feddpsd", "FedDPSD"},
       {"fedavg", "FedAVG"},
       {"dpdfd-ensemble", "DPDFD"},
       {"dpdfd-direct", "DPDFD"},
       {"pate", "PATE-2018"},
       {"dp-merf", "DP-MERF"}}};
  for (const auto& [known, approach] : kNames)
    if (known == method) return std::string(approach);
  std::string upper(method);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return upper;
}

}  // namespace retort::orchestrator::cli
