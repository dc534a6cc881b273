#include "monitoring/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

#include <cstdio>

#include "monitoring/exporter.h"

namespace retort::monitoring {
namespace {

prometheus::ClientMetric Sample(const MetricFamily& family, const MetricValues::Labels& labels,
                                double value) {
  prometheus::ClientMetric sample;
  for (std::size_t i = 0; i < labels.size(); ++i)
    sample.label.push_back({std::string(family.labels[i].name), labels[i]});
  if (family.type == MetricType::counter)
    sample.counter.value = value;
  else
    sample.gauge.value = value;
  return sample;
}

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') quoted += '\\';
    if (byte >= 0x20) {
      quoted += c;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(byte));
    quoted += escape;
  }
  return quoted + "\"";
}

}  // namespace

std::vector<prometheus::MetricFamily> ToPrometheus(const MetricValues& values) {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricFamily& family : MetricCatalogue()) {
    if (values.Series(family.metric).empty()) continue;
    prometheus::MetricFamily out;
    out.name = family.name;
    out.help = family.help;
    out.type =
        family.type == MetricType::counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    for (const auto& [labels, value] : values.Series(family.metric))
      out.metric.push_back(Sample(family, labels, value));
    families.push_back(std::move(out));
  }
  return families;
}

std::string ExpositionText(const MetricValues& values) {
  return prometheus::TextSerializer().Serialize(ToPrometheus(values));
}

std::string TargetsJson(std::string_view address, std::string_view sweep) {
  return "[{\"targets\": [" + JsonString(address) + "], \"labels\": {\"sweep\": " + JsonString(sweep) +
         "}}]\n";
}

}  // namespace retort::monitoring
