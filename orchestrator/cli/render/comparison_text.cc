#include "orchestrator/cli/render/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::array kAllVerdicts = {Verdict::inside, Verdict::above, Verdict::below, Verdict::not_measured,
                                     Verdict::not_measurable};

// Name of the measured metric, by which values are printed: the published one where nothing was measured.
std::string MetricName(const PublishedValue& value) {
  if (value.metric == "accuracy") return "test.accuracy";
  return value.metric == "parameters" ? "student.parameters" : value.metric;
}

// "+0.42", "-1.30" in the unit of the metric.
std::string DifferenceText(const ComparedValue& compared) {
  if (!compared.difference) return "";
  const double unit = compared.value.metric == "accuracy" ? 100 : 1;
  const double shown = *compared.difference * unit;
  return unit == 1 && shown == std::floor(shown) ? fmt::format("{:+.0f}", shown) : fmt::format("{:+.2f}", shown);
}

std::string VerdictText(const ComparedValue& compared) {
  std::string text(GetVerdictName(compared.verdict));
  if (compared.smoke) text += ", smoke";
  return compared.reason.empty() ? text : text + ": " + compared.reason;
}

std::vector<std::string> Cells(const ComparedValue& compared, std::size_t keys) {
  std::vector<std::string> cells = compared.keys;
  cells.resize(keys);
  const std::string metric = MetricName(compared.value);
  cells.push_back(compared.value.approach + (compared.value.setting.empty() ? "" : ", " + compared.value.setting) +
                  ", " + compared.value.dataset +
                  (compared.value.epsilon ? ", ε = " + FormatShortNumber(*compared.value.epsilon) : ""));
  cells.push_back(FormatMetric(compared.value.value, metric));
  cells.push_back(compared.summary.n > 0 ? FormatMeasured(compared.summary, metric) : "–");
  cells.push_back(DifferenceText(compared));
  cells.push_back(compared.interval ? FormatInterval(*compared.interval, metric) + " " +
                                          std::string(GetIntervalKindName(compared.interval_kind))
                                    : "");
  cells.push_back(VerdictText(compared));
  return cells;
}

// "3 inside, 1 above, 8 not measured": of those that there are.
std::string Sum(const std::vector<int>& verdicts) {
  std::string text;
  for (const Verdict verdict : kAllVerdicts) {
    const int count = verdicts[static_cast<std::size_t>(verdict)];
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, GetVerdictName(verdict));
  }
  return text.empty() ? "no published value" : text;
}

std::vector<std::string> CountCells(const std::string& name, int values, const std::vector<int>& verdicts) {
  std::vector<std::string> cells = {name, CountText(values)};
  for (const Verdict verdict : kAllVerdicts) cells.push_back(CountText(verdicts[static_cast<std::size_t>(verdict)]));
  return cells;
}

nlohmann::ordered_json VerdictsJson(const std::vector<int>& verdicts) {
  nlohmann::ordered_json json;
  for (const Verdict verdict : kAllVerdicts)
    json[std::string(GetVerdictName(verdict))] = verdicts[static_cast<std::size_t>(verdict)];
  return json;
}

}  // namespace

std::string FormatComparison(const std::vector<ComparedValue>& compared, const std::vector<std::string>& keys) {
  std::vector<std::string> header = keys;
  for (const char* name : {"published as", "published", "measured", "difference", "interval", "verdict"})
    header.emplace_back(name);
  std::vector<Align> align(keys.size() + 1, Align::left);
  align.insert(align.end(), {Align::right, Align::right, Align::right, Align::left, Align::left});
  TextTable table(header, align);
  std::vector<int> verdicts(kVerdicts);
  for (const ComparedValue& one : compared) {
    table.Add(Cells(one, keys.size()));
    ++verdicts[static_cast<std::size_t>(one.verdict)];
  }
  const std::string title =
      compared.empty() ? "" : fmt::format("{}, table {}\n", compared.front().sweep, compared.front().table);
  return title + table.Render() + Sum(verdicts) + "\n";
}

std::string FormatCounts(const std::vector<PaperCount>& counts) {
  std::vector<std::string> header = {"paper", "values"};
  for (const Verdict verdict : kAllVerdicts) header.emplace_back(GetVerdictName(verdict));
  TextTable table(header,
                  {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right, Align::right});
  std::vector<int> total(kVerdicts);
  int values = 0;
  for (const PaperCount& count : counts) {
    table.Add(CountCells(count.paper, count.values, count.verdicts));
    values += count.values;
    for (std::size_t i = 0; i < kVerdicts; ++i) total[i] += count.verdicts[i];
    for (const auto& [reading, verdicts] : count.by_reading) {
      std::vector<std::string> cells = CountCells("  reading " + reading, 0, verdicts);
      cells[1].clear();
      cells[5].clear();
      cells[6].clear();
      table.Add(std::move(cells));
    }
  }
  table.AddRule();
  table.Add(CountCells("all", values, total));
  return table.Render();
}

nlohmann::ordered_json MakeComparedJson(const ComparedValue& compared, const std::vector<std::string>& keys) {
  const PublishedValue& value = compared.value;
  nlohmann::ordered_json json;
  json["sweep"] = compared.sweep;
  json["table"] = compared.table;
  json["role"] = compared.role.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(compared.role);
  json["keys"] = compared.keys.empty() ? nlohmann::ordered_json::object() : MakeKeysAndValues(keys, compared.keys);
  json["reading"] = compared.reading;
  json["paper"] = value.paper;
  json["published_table"] = value.table;
  json["dataset"] = value.dataset;
  json["approach"] = value.approach;
  json["setting"] = value.setting;
  json["epsilon"] = value.epsilon ? nlohmann::ordered_json(*value.epsilon) : nlohmann::ordered_json();
  json["metric"] = value.metric;
  json["published"] = value.value;
  json["mean"] = compared.summary.n > 0 ? nlohmann::ordered_json(compared.summary.mean) : nlohmann::ordered_json();
  json["n"] = compared.summary.n;
  json["difference"] = compared.difference ? nlohmann::ordered_json(*compared.difference) : nlohmann::ordered_json();
  json["interval"] = compared.interval ? nlohmann::ordered_json{compared.interval->first, compared.interval->second}
                                       : nlohmann::ordered_json();
  json["interval_of"] = compared.interval ? nlohmann::ordered_json(GetIntervalKindName(compared.interval_kind))
                                          : nlohmann::ordered_json();
  json["verdict"] = GetVerdictName(compared.verdict);
  json["reason"] = compared.reason;
  json["smoke"] = compared.smoke;
  return json;
}

nlohmann::ordered_json CountJson(const PaperCount& count) {
  nlohmann::ordered_json json;
  json["paper"] = count.paper;
  json["values"] = count.values;
  json["verdicts"] = VerdictsJson(count.verdicts);
  json["by_reading"] = nlohmann::ordered_json::object();
  for (const auto& [reading, verdicts] : count.by_reading) json["by_reading"][reading] = VerdictsJson(verdicts);
  return json;
}

}  // namespace retort::orchestrator::cli
