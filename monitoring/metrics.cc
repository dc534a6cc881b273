#include "monitoring/metrics.h"

#include <algorithm>
#include <array>

#include "experiments/base/failure_kind.h"
#include "experiments/base/status.h"

namespace retort::monitoring {
namespace {

constexpr auto kCounter = MetricType::counter;
constexpr auto kGauge = MetricType::gauge;
constexpr auto kHistogram = MetricType::histogram;

MetricLabel StateLabel(std::vector<std::string_view> states) { return {"state", std::move(states), {}}; }
MetricLabel OpenLabel(std::string_view name, std::string_view bound) { return {name, {}, bound}; }
MetricLabel Following(std::string_view name, std::string_view bound) { return {name, {}, bound, true}; }

std::vector<std::string_view> FailureNames() {
  std::vector<std::string_view> names;
  for (unsigned number = 1; number < 256; ++number) {
    const std::string_view name = GetFailureName(static_cast<FailureKind>(number));
    if (ParseFailureName(name) == static_cast<FailureKind>(number)) names.push_back(name);
  }
  return names;
}

std::vector<MetricFamily> MakeCatalogue() {
  const MetricLabel dataset = OpenLabel("dataset", "data sets of the sweep");
  const MetricLabel claim = {"claim", {"example"}, {}};
  const MetricLabel rank = OpenLabel("rank", "ranks of the launcher");
  const MetricLabel slot = OpenLabel("slot", "slots of a rank");
  const MetricLabel host = OpenLabel("host", "hosts");
  return {
      {Metric::build_info,
       "retort_build_info",
       kGauge,
       "info",
       "Always 1; the labels say which build runs.",
       {Following("version", "builds: 1"), Following("commit", "builds: 1")},
       {}},
      {Metric::worker_info,
       "retort_worker_info",
       kGauge,
       "info",
       "Always 1 for each place where a worker can run; gpu_uuid is empty on CPUs.",
       {rank, slot, Following("host", "hosts"), Following("device", "devices of a host"),
        Following("gpu_uuid", "devices")},
       {}},
      {Metric::start_timestamp_seconds,
       "retort_start_timestamp_seconds",
       kGauge,
       "seconds",
       "When this orchestrator started, in Unix time.",
       {},
       {}},
      {Metric::uptime_seconds,
       "retort_uptime_seconds",
       kGauge,
       "seconds",
       "How long this orchestrator has been running.",
       {},
       {}},
      {Metric::clock_timestamp_seconds,
       "retort_clock_timestamp_seconds",
       kGauge,
       "seconds",
       "The orchestrator's own clock when these values were taken, in Unix time: to compare with its other timestamps.",
       {},
       {}},
      {Metric::trials,
       "retort_trials",
       kGauge,
       "trials",
       "Trials of the sweep, by state.",
       {StateLabel({"waiting", "queued", "leased", "running", "succeeded", "failed", "parent-failed", "cancelled"})},
       {}},
      {Metric::gangs,
       "retort_gangs",
       kGauge,
       "gangs",
       "Gangs of workers that train a trial now; a gang may be a single worker.",
       {},
       {}},
      {Metric::attempts_total,
       "retort_attempts_total",
       kCounter,
       "attempts",
       "Attempts that this orchestrator has leased.",
       {},
       {}},
      {Metric::retries_total,
       "retort_retries_total",
       kCounter,
       "attempts",
       "Attempts that failed and whose trial was queued again, by kind of failure.",
       {{"kind", FailureNames(), {}}},
       {}},
      {Metric::failures_total,
       "retort_failures_total",
       kCounter,
       "attempts",
       "Attempts that ended without a result, by kind of failure.",
       {{"kind", FailureNames(), {}}},
       {}},
      {Metric::steps_total,
       "retort_steps_total",
       kCounter,
       "steps",
       "Training steps that workers have reported.",
       {},
       {}},
      {Metric::step_duration_seconds,
       "retort_step_duration_seconds",
       kHistogram,
       "seconds",
       "Time of a training step, as the mean between two reports of its worker.",
       {},
       {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60}},
      {Metric::seat_progress_timestamp_seconds,
       "retort_seat_progress_timestamp_seconds",
       kGauge,
       "seconds",
       "When the gang whose leader sits there last got on, in Unix time; absent while none does.",
       {rank, slot},
       {}},
      {Metric::seat_progress_ratio,
       "retort_seat_progress_ratio",
       kGauge,
       "ratio",
       "Part of its steps that the gang whose leader sits there has made, from 0 to 1; absent while none does.",
       {rank, slot},
       {}},
      {Metric::seat_deadline_seconds,
       "retort_seat_deadline_seconds",
       kGauge,
       "seconds",
       "After how long without a sign of life the gang whose leader sits there is ended.",
       {rank, slot},
       {}},
      {Metric::releases_total,
       "retort_releases_total",
       kCounter,
       "releases",
       "Releases of teacher information that the ledger has granted.",
       {dataset},
       {}},
      {Metric::samples_total,
       "retort_samples_total",
       kCounter,
       "samples",
       "Rows whose annotations the ledger has granted to release.",
       {},
       {}},
      {Metric::epsilon_spent,
       "retort_epsilon_spent",
       kGauge,
       "epsilon",
       "Total epsilon of a private data set under the claim that the label names, at retort_epsilon_delta: over all "
       "trials of the sweep and what the other sweeps of the results root had charged when the run began or ended; "
       "+Inf when it has no bound.",
       {dataset, claim},
       {}},
      {Metric::epsilon_budget,
       "retort_epsilon_budget",
       kGauge,
       "epsilon",
       "Cap on the total epsilon of a private data set, set by this sweep or another on the same examples: of several "
       "the one that is used up most; absent where there is none.",
       {dataset, claim},
       {}},
      {Metric::epsilon_delta,
       "retort_epsilon_delta",
       kGauge,
       "probability",
       "Delta at which the epsilon of a private data set is stated.",
       {dataset},
       {}},
      {Metric::devices,
       "retort_devices",
       kGauge,
       "devices",
       "Devices and CPU slots of all agents, by state; drained ones get no more work.",
       {StateLabel({"idle", "busy", "drained", "lost"})},
       {}},
      {Metric::workers,
       "retort_workers",
       kGauge,
       "processes",
       "Places of worker processes, by what the worker there does.",
       {StateLabel({"starting", "idle", "busy", "dead"})},
       {}},
      {Metric::worker_spawns_total,
       "retort_worker_spawns_total",
       kCounter,
       "processes",
       "Worker processes that started and said so.",
       {},
       {}},
      {Metric::agents, "retort_agents", kGauge, "ranks", "Agents that have registered and answer.", {}, {}},
      {Metric::agents_expected, "retort_agents_expected", kGauge, "ranks", "Agents that the launcher started.", {}, {}},
      {Metric::checkpoints_total,
       "retort_checkpoints_total",
       kCounter,
       "checkpoints",
       "Checkpoints that workers have committed.",
       {},
       {}},
      {Metric::checkpoint_bytes_total,
       "retort_checkpoint_bytes_total",
       kCounter,
       "bytes",
       "Bytes of tensors in the checkpoints that workers have committed.",
       {},
       {}},
      {Metric::checkpoint_duration_seconds,
       "retort_checkpoint_duration_seconds",
       kHistogram,
       "seconds",
       "Time that a worker spent on writing and syncing a checkpoint.",
       {},
       {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}},
      {Metric::journal_appends_total,
       "retort_journal_appends_total",
       kCounter,
       "records",
       "Records that this orchestrator has appended to the journal.",
       {},
       {}},
      {Metric::journal_bytes, "retort_journal_bytes", kGauge, "bytes", "Size of journal.log.", {}, {}},
      {Metric::ledger_appends_total,
       "retort_ledger_appends_total",
       kCounter,
       "records",
       "Reservations and settlements that this orchestrator has appended to the ledger.",
       {},
       {}},
      {Metric::ledger_bytes, "retort_ledger_bytes", kGauge, "bytes", "Size of ledger.log.", {}, {}},
      {Metric::storage_free_bytes,
       "retort_storage_free_bytes",
       kGauge,
       "bytes",
       "Free space of the file system that holds the results folder.",
       {},
       {}},
      {Metric::messages_received_total,
       "retort_messages_received_total",
       kCounter,
       "messages",
       "Messages that the orchestrator has received, stale ones included.",
       {},
       {}},
      {Metric::stale_messages_total,
       "retort_stale_messages_total",
       kCounter,
       "messages",
       "Messages dropped because their attempt had already ended.",
       {},
       {}},
      {Metric::malformed_messages_total,
       "retort_malformed_messages_total",
       kCounter,
       "messages",
       "Frames dropped because they did not decode.",
       {},
       {}},
      {Metric::expected_end_timestamp_seconds,
       "retort_expected_end_timestamp_seconds",
       kGauge,
       "seconds",
       "When the sweep is expected to end, in Unix time; absent while a cost is unknown.",
       {},
       {}},
      {Metric::last_trial_end_timestamp_seconds,
       "retort_last_trial_end_timestamp_seconds",
       kGauge,
       "seconds",
       "When a trial last ended for good, in Unix time; 0 before the first.",
       {},
       {}},
      {Metric::last_success_timestamp_seconds,
       "retort_last_success_timestamp_seconds",
       kGauge,
       "seconds",
       "When a trial last succeeded, in Unix time; 0 before the first.",
       {},
       {}},
      {Metric::energy_joules_total,
       "retort_energy_joules_total",
       kCounter,
       "joules",
       "Energy of the GPUs of attempts that succeeded, as the driver counts it; absent for hosts where it does not.",
       {host},
       {}},
      {Metric::device_busy_ratio,
       "retort_device_busy_ratio",
       kGauge,
       "ratio",
       "Fraction of their time in which GPUs of attempts that succeeded ran a kernel; absent where the driver does not "
       "say it.",
       {host},
       {}},
  };
}

// Every combination of the values of closed labels; nothing when one label is open.
std::vector<MetricValues::Labels> ClosedCombinations(const MetricFamily& family) {
  std::vector<MetricValues::Labels> combinations = {{}};
  for (const MetricLabel& label : family.labels) {
    std::vector<MetricValues::Labels> longer;
    for (const auto& combination : combinations) {
      for (const std::string_view value : label.values) {
        longer.push_back(combination);
        longer.back().emplace_back(value);
      }
    }
    combinations = std::move(longer);
  }
  return combinations;
}

bool Fits(const MetricFamily& family, const MetricValues::Labels& labels) {
  if (labels.size() != family.labels.size()) return false;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto& allowed = family.labels[i].values;
    if (!allowed.empty() && std::ranges::find(allowed, labels[i]) == allowed.end()) return false;
  }
  return true;
}

}  // namespace

std::string_view GetMetricTypeName(MetricType type) {
  constexpr std::string_view kNames[] = {"counter", "gauge", "histogram"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string DescribeMaxSeries(const MetricFamily& family) {
  constexpr std::size_t kBesideBuckets = 3;  // the bucket of +Inf, the sum and the count
  if (family.type == MetricType::histogram) return std::to_string(family.bounds.size() + kBesideBuckets);
  std::size_t product = 1;
  std::string open;
  for (const MetricLabel& label : family.labels) {
    if (label.follows) continue;
    if (label.values.empty())
      open.append(open.empty() ? "" : " x ").append(label.bound);
    else
      product *= label.values.size();
  }
  if (open.empty()) return std::to_string(product);
  return product == 1 ? open : std::to_string(product) + " x " + open;
}

std::span<const MetricFamily> GetMetricCatalogue() {
  static const std::vector<MetricFamily> catalogue = MakeCatalogue();
  return catalogue;
}

const MetricFamily& FindFamily(Metric metric) { return GetMetricCatalogue()[static_cast<std::size_t>(metric)]; }

MetricValues::MetricValues() : series_(GetMetricCatalogue().size()) {
  for (const MetricFamily& family : GetMetricCatalogue()) {
    if (family.type == MetricType::histogram) {
      distributions_.emplace(family.metric, Histogram(family.bounds));
      continue;
    }
    for (const Labels& labels : ClosedCombinations(family)) Set(family.metric, labels, 0);
  }
}

void MetricValues::Set(Metric metric, const Labels& labels, double value) {
  RETORT_CHECK(FindFamily(metric).type != MetricType::histogram && Fits(FindFamily(metric), labels));
  series_[static_cast<std::size_t>(metric)][labels] = value;
}

void MetricValues::Add(Metric metric, const Labels& labels, double amount) {
  Set(metric, labels, Get(metric, labels) + amount);
}

void MetricValues::Set(Metric metric, const Histogram& distribution) {
  RETORT_CHECK(distribution.bounds() == distributions_.at(metric).bounds());
  distributions_.at(metric) = distribution;
}

const Histogram& MetricValues::Distribution(Metric metric) const { return distributions_.at(metric); }

double MetricValues::Get(Metric metric, const Labels& labels) const {
  const auto& series = Series(metric);
  const auto found = series.find(labels);
  return found == series.end() ? 0 : found->second;
}

const std::map<MetricValues::Labels, double>& MetricValues::Series(Metric metric) const {
  return series_[static_cast<std::size_t>(metric)];
}

}  // namespace retort::monitoring
