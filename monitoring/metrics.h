// The catalogue of everything Retort exports, and the values of one moment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retort::monitoring {

// A distribution over fixed buckets. Copyable; not thread-safe.
class Histogram {
 public:
  Histogram() = default;
  // `bounds`: inclusive upper bounds in rising order; one more bucket has none.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1, 0) {}

  // `times` observations of `value`; NaN is none.
  void Observe(double value, std::uint64_t times = 1) {
    if (value != value || counts_.empty()) return;
    const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)] += times;
    sum_ += value * static_cast<double>(times);
  }

  [[nodiscard]] const std::vector<double>& bounds() const { return bounds_; }
  [[nodiscard]] const std::vector<std::uint64_t>& counts() const { return counts_; }  // by bucket, not cumulated
  [[nodiscard]] double sum() const { return sum_; }
  bool operator==(const Histogram&) const = default;

 private:
  std::vector<double> bounds_;
  std::vector<std::uint64_t> counts_;
  double sum_ = 0;
};

enum class MetricType : std::uint8_t { counter, gauge, histogram };
[[nodiscard]] std::string_view GetMetricTypeName(MetricType type);  // "counter", ...

// One family each; the order is the order of the catalogue.
enum class Metric : std::uint8_t {
  build_info,
  worker_info,
  start_timestamp_seconds,
  uptime_seconds,
  clock_timestamp_seconds,
  trials,
  gangs,
  attempts_total,
  retries_total,
  failures_total,
  steps_total,
  step_duration_seconds,
  seat_progress_timestamp_seconds,
  seat_progress_ratio,
  seat_deadline_seconds,
  releases_total,
  samples_total,
  epsilon_spent,
  epsilon_budget,
  epsilon_delta,
  devices,
  workers,
  worker_spawns_total,
  agents,
  agents_expected,
  checkpoints_total,
  checkpoint_bytes_total,
  checkpoint_duration_seconds,
  journal_appends_total,
  journal_bytes,
  ledger_appends_total,
  ledger_bytes,
  storage_free_bytes,
  messages_received_total,
  stale_messages_total,
  malformed_messages_total,
  expected_end_timestamp_seconds,
  last_trial_end_timestamp_seconds,
  last_success_timestamp_seconds,
  energy_joules_total,
  device_busy_ratio,
};

struct MetricLabel {
  std::string_view name;
  // All values the label can take, exported as zero from the start; empty: an open set.
  std::vector<std::string_view> values;
  std::string_view bound;  // of an open set: what its size cannot exceed, "data sets of the sweep"
  bool follows = false;    // the labels before it decide its value
};

struct MetricFamily {
  Metric metric;
  std::string_view name;  // "retort_trials"
  MetricType type;
  std::string_view unit;  // base unit: "seconds", "bytes", "trials"
  std::string_view help;  // one sentence
  std::vector<MetricLabel> labels;
  std::vector<double> bounds;  // of a histogram: upper bounds of its buckets, rising; no labels then
};

// How many series it has at most: "1", "17", "data sets of the sweep", "ranks of the launcher x slots of a rank".
[[nodiscard]] std::string DescribeMaxSeries(const MetricFamily& family);
// Ordered as the enumerators of Metric.
[[nodiscard]] std::span<const MetricFamily> GetMetricCatalogue();
[[nodiscard]] const MetricFamily& FindFamily(Metric metric);

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
  // `distribution` must have the buckets of the family.
  void Set(Metric metric, const Histogram& distribution);
  [[nodiscard]] const Histogram& Distribution(Metric metric) const;
  // 0 when never set.
  [[nodiscard]] double Get(Metric metric, const Labels& labels = {}) const;
  [[nodiscard]] const std::map<Labels, double>& Series(Metric metric) const;

 private:
  std::vector<std::map<Labels, double>> series_;  // by Metric
  std::map<Metric, Histogram> distributions_;     // every histogram of the catalogue
};

}  // namespace retort::monitoring
