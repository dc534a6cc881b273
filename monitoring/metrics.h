// The catalogue of everything Retort exports, and the values of one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retort::monitoring {

enum class MetricType : std::uint8_t { counter, gauge };

// One family each; the order is the order of the catalogue.
enum class Metric : std::uint8_t {
  build_info,
  start_timestamp_seconds,
  uptime_seconds,
  trials,
  attempts_total,
  failures_total,
  steps_total,
  releases_total,
  samples_total,
  epsilon_spent,
  epsilon_budget,
  workers,
  worker_spawns_total,
  agents,
  journal_bytes,
  ledger_bytes,
  messages_received_total,
  stale_messages_total,
  malformed_messages_total,
  last_trial_end_timestamp_seconds,
};

struct MetricLabel {
  std::string_view name;
  // All values the label can take, exported as zero from the start; empty: an open but small set, e.g.
  // the data sets of the sweep.
  std::vector<std::string_view> values;
};

struct MetricFamily {
  Metric metric;
  std::string_view name;  // "retort_trials"
  MetricType type;
  std::string_view unit;  // base unit: "seconds", "bytes", "trials"
  std::string_view help;  // one sentence
  std::vector<MetricLabel> labels;
};

// Ordered as the enumerators of Metric.
[[nodiscard]] std::span<const MetricFamily> MetricCatalogue();
[[nodiscard]] const MetricFamily& FamilyOf(Metric metric);

// One value for each label combination that was set; closed label sets start at zero. A plain value:
// copy it to hand it to another thread.
class MetricValues {
 public:
  using Labels = std::vector<std::string>;  // values in the order of the family's labels

  MetricValues();
  // `labels` must have as many entries as the family has labels, each of the closed set if it has one
  // (anything else is a broken invariant). Value: in the family's base unit, may be infinite.
  void Set(Metric metric, const Labels& labels, double value);
  void Set(Metric metric, double value) { Set(metric, {}, value); }
  void Add(Metric metric, const Labels& labels, double amount);
  void Add(Metric metric, double amount) { Add(metric, {}, amount); }
  // 0 when never set.
  [[nodiscard]] double Get(Metric metric, const Labels& labels = {}) const;
  [[nodiscard]] const std::map<Labels, double>& Series(Metric metric) const;

 private:
  std::vector<std::map<Labels, double>> series_;  // by Metric
};

}  // namespace retort::monitoring
