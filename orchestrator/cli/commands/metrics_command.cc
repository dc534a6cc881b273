#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "monitoring/metrics.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"

namespace retort::orchestrator::cli {
namespace {

using monitoring::MetricFamily;
using monitoring::MetricLabel;

// "state = idle | busy", "rank (ranks of the launcher)".
std::string LabelText(const MetricLabel& label) {
  std::string text(label.name);
  if (label.values.empty()) return text + " (" + std::string(label.bound) + ")";
  const char* before = " = ";
  for (const std::string_view value : label.values) {
    text.append(before).append(value);
    before = " | ";
  }
  return text;
}

std::string CatalogueText(std::size_t width) {
  std::string text;
  for (const MetricFamily& family : monitoring::GetMetricCatalogue()) {
    text.append(family.name).append("  ").append(GetMetricTypeName(family.type));
    text.append(", ").append(family.unit).append("; series: ").append(DescribeMaxSeries(family)).append("\n");
    text += "  " + Wrap(std::string(family.help), width > 4 ? width - 2 : 108, 2) + "\n";
    for (const MetricLabel& label : family.labels)
      text += "    " + Wrap(LabelText(label), width > 8 ? width - 4 : 106, 6) + "\n";
  }
  return text;
}

nlohmann::ordered_json FamilyJson(const MetricFamily& family) {
  nlohmann::ordered_json object;
  object["name"] = family.name;
  object["type"] = GetMetricTypeName(family.type);
  object["unit"] = family.unit;
  object["help"] = family.help;
  object["series"] = DescribeMaxSeries(family);
  object["labels"] = nlohmann::ordered_json::array();
  for (const MetricLabel& label : family.labels)
    object["labels"].push_back({{"name", label.name}, {"values", label.values}, {"bound", label.bound}});
  object["buckets"] = family.bounds;
  return object;
}

}  // namespace

void AddMetrics(CLI::App& app, CommandLine& line) {
  CLI::App* metrics =
      AddCommand(app, "metrics", "What a running sweep tells Prometheus: names, units, labels, meaning");
  metrics->add_flag("--list", line.list_metrics, "Every metric, with or without a running sweep (the default)");
}

int ExecuteMetrics(const Invocation& call) {
  if (!call.line.global.json) {
    call.console.Text(CatalogueText(call.console.options().width));
    return 0;
  }
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["metrics"] = nlohmann::ordered_json::array();
  for (const MetricFamily& family : monitoring::GetMetricCatalogue()) document["metrics"].push_back(FamilyJson(family));
  call.console.Data(FormatDocument(document));
  return 0;
}

}  // namespace retort::orchestrator::cli
