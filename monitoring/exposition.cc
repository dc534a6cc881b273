#include "monitoring/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <limits>
#include <utility>
#include <vector>

namespace retort::monitoring {
namespace {

using Sample = prometheus::ClientMetric;

prometheus::MetricType ToPrometheus(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return prometheus::MetricType::Counter;
    case MetricType::gauge:
      return prometheus::MetricType::Gauge;
    case MetricType::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

// Each bucket counts what is at most its bound.
Sample::Histogram ToPrometheus(const Histogram& distribution) {
  Sample::Histogram histogram;
  histogram.sample_sum = distribution.sum();
  for (std::size_t i = 0; i < distribution.counts().size(); ++i) {
    const bool bounded = i < distribution.bounds().size();
    histogram.sample_count += distribution.counts()[i];
    histogram.bucket.push_back(
        {histogram.sample_count, bounded ? distribution.bounds()[i] : std::numeric_limits<double>::infinity()});
  }
  return histogram;
}

Sample MakeSample(const MetricFamily& family, std::string_view sweep, const MetricValues::Labels& labels) {
  Sample sample;
  if (!sweep.empty()) sample.label.push_back({"sweep", std::string(sweep)});
  for (std::size_t i = 0; i < labels.size(); ++i)
    sample.label.push_back({std::string(family.labels[i].name), labels[i]});
  return sample;
}

prometheus::MetricFamily Collect(const MetricFamily& family, const MetricValues& values, std::string_view sweep) {
  prometheus::MetricFamily collected{std::string(family.name), std::string(family.help), ToPrometheus(family.type), {}};
  if (family.type == MetricType::histogram) {
    collected.metric.push_back(MakeSample(family, sweep, {}));
    collected.metric.back().histogram = ToPrometheus(values.Distribution(family.metric));
  }
  collected.metric.reserve(collected.metric.size() + values.Series(family.metric).size());
  for (const auto& [labels, value] : values.Series(family.metric)) {
    Sample& sample = collected.metric.emplace_back(MakeSample(family, sweep, labels));
    (family.type == MetricType::counter ? sample.counter.value : sample.gauge.value) = value;
  }
  return collected;
}

}  // namespace

std::string FormatExposition(const MetricValues& values, std::string_view sweep) {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricFamily& family : MetricCatalogue()) {
    prometheus::MetricFamily collected = Collect(family, values, sweep);
    if (!collected.metric.empty()) families.push_back(std::move(collected));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace retort::monitoring
