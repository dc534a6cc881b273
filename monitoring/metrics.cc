#include "monitoring/metrics.h"

#include <algorithm>
#include <array>

#include "experiments/spec/failure_kind.h"
#include "experiments/spec/status.h"

namespace retort::monitoring {
namespace {

constexpr auto kCounter = MetricType::counter;
constexpr auto kGauge = MetricType::gauge;

MetricLabel StateLabel(std::vector<std::string_view> states) { return {"state", std::move(states)}; }

std::vector<std::string_view> FailureNames() {
  std::vector<std::string_view> names;
  for (unsigned number = 1; number < 256; ++number) {
    const std::string_view name = FailureName(static_cast<FailureKind>(number));
    if (ParseFailureName(name) == static_cast<FailureKind>(number)) names.push_back(name);
  }
  return names;
}

std::vector<MetricFamily> MakeCatalogue() {
  const MetricLabel dataset{"dataset", {}};
  return {
      {Metric::build_info,
       "retort_build_info",
       kGauge,
       "info",
       "Always 1; the labels say which build runs.",
       {{"version", {}}, {"commit", {}}}},
      {Metric::start_timestamp_seconds,
       "retort_start_timestamp_seconds",
       kGauge,
       "seconds",
       "When this orchestrator started, in Unix time.",
       {}},
      {Metric::uptime_seconds,
       "retort_uptime_seconds",
       kGauge,
       "seconds",
       "How long this orchestrator has been running.",
       {}},
      {Metric::trials,
       "retort_trials",
       kGauge,
       "trials",
       "Trials of the sweep, by state.",
       {StateLabel(
           {"waiting", "queued", "leased", "running", "succeeded", "failed", "parent-failed", "cancelled"})}},
      {Metric::attempts_total,
       "retort_attempts_total",
       kCounter,
       "attempts",
       "Attempts that this orchestrator has leased.",
       {}},
      {Metric::failures_total,
       "retort_failures_total",
       kCounter,
       "attempts",
       "Attempts that ended without a result, by kind of failure.",
       {{"kind", FailureNames()}}},
      {Metric::steps_total,
       "retort_steps_total",
       kCounter,
       "steps",
       "Training steps that workers have reported.",
       {}},
      {Metric::releases_total,
       "retort_releases_total",
       kCounter,
       "releases",
       "Releases of teacher information that the ledger has granted.",
       {dataset}},
      {Metric::samples_total,
       "retort_samples_total",
       kCounter,
       "samples",
       "Synthetic samples whose annotations were released.",
       {}},
      {Metric::epsilon_spent,
       "retort_epsilon_spent",
       kGauge,
       "epsilon",
       "Total example-level epsilon over all trials of a private data set; +Inf when it has no bound.",
       {dataset}},
      {Metric::epsilon_budget,
       "retort_epsilon_budget",
       kGauge,
       "epsilon",
       "Cap on the total epsilon of a private data set; absent when the sweep sets none.",
       {dataset}},
      {Metric::workers,
       "retort_workers",
       kGauge,
       "processes",
       "Worker processes, by state.",
       {StateLabel({"starting", "idle", "busy", "dead"})}},
      {Metric::worker_spawns_total,
       "retort_worker_spawns_total",
       kCounter,
       "processes",
       "Worker processes that started and said so.",
       {}},
      {Metric::agents, "retort_agents", kGauge, "ranks", "Agents that have registered and answer.", {}},
      {Metric::journal_bytes, "retort_journal_bytes", kGauge, "bytes", "Size of journal.log.", {}},
      {Metric::ledger_bytes, "retort_ledger_bytes", kGauge, "bytes", "Size of ledger.log.", {}},
      {Metric::messages_received_total,
       "retort_messages_received_total",
       kCounter,
       "messages",
       "Messages that the orchestrator has received, stale ones included.",
       {}},
      {Metric::stale_messages_total,
       "retort_stale_messages_total",
       kCounter,
       "messages",
       "Messages dropped because their attempt had already ended.",
       {}},
      {Metric::malformed_messages_total,
       "retort_malformed_messages_total",
       kCounter,
       "messages",
       "Frames dropped because they did not decode.",
       {}},
      {Metric::last_trial_end_timestamp_seconds,
       "retort_last_trial_end_timestamp_seconds",
       kGauge,
       "seconds",
       "When a trial last ended for good, in Unix time; 0 before the first.",
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

std::span<const MetricFamily> MetricCatalogue() {
  static const std::vector<MetricFamily> catalogue = MakeCatalogue();
  return catalogue;
}

const MetricFamily& FamilyOf(Metric metric) { return MetricCatalogue()[static_cast<std::size_t>(metric)]; }

MetricValues::MetricValues() : series_(MetricCatalogue().size()) {
  for (const MetricFamily& family : MetricCatalogue()) {
    for (const Labels& labels : ClosedCombinations(family)) Set(family.metric, labels, 0);
  }
}

void MetricValues::Set(Metric metric, const Labels& labels, double value) {
  RETORT_CHECK(Fits(FamilyOf(metric), labels));
  series_[static_cast<std::size_t>(metric)][labels] = value;
}

void MetricValues::Add(Metric metric, const Labels& labels, double amount) {
  Set(metric, labels, Get(metric, labels) + amount);
}

double MetricValues::Get(Metric metric, const Labels& labels) const {
  const auto& series = Series(metric);
  const auto found = series.find(labels);
  return found == series.end() ? 0 : found->second;
}

const std::map<MetricValues::Labels, double>& MetricValues::Series(Metric metric) const {
  return series_[static_cast<std::size_t>(metric)];
}

}  // namespace retort::monitoring
