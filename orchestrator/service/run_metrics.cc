#include "orchestrator/service/run_metrics.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "experiments/privacy/claim.h"
#include "monitoring/exporter.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/admission.h"
#include "orchestrator/results/surroundings.h"
#include "orchestrator/screen/live_facts.h"
#include "storage/files/path_status.h"
#include "storage/log/privacy_ledger.h"

namespace retort::orchestrator {
namespace {

using monitoring::Metric;
using monitoring::MetricValues;

// The adjacency under which data sets are totalled.
const std::string kClaim(privacy::GetAdjacencyName(privacy::Adjacency::example));

MetricValues::Labels SeatLabels(WorldRank rank, int slot) { return {std::to_string(rank.value), std::to_string(slot)}; }

void CollectByKind(const std::map<FailureKind, std::uint64_t>& counts, Metric metric, MetricValues& values) {
  for (const auto& [kind, count] : counts)
    if (kind != FailureKind::none) values.Set(metric, {std::string(GetFailureName(kind))}, static_cast<double>(count));
}

void CollectTrials(const Core& core, MetricValues& values) {
  for (auto state = static_cast<int>(TrialState::waiting); state <= static_cast<int>(TrialState::cancelled); ++state) {
    const auto trial_state = static_cast<TrialState>(state);
    values.Set(Metric::trials, {std::string(GetStateName(trial_state))},
               static_cast<double>(core.CountIn(trial_state)));
  }
  values.Set(Metric::gangs, static_cast<double>(core.fleet.active().size()));
  values.Set(Metric::attempts_total, static_cast<double>(core.counters.leases));
  CollectByKind(core.counters.retries, Metric::retries_total, values);
  CollectByKind(core.counters.failures, Metric::failures_total, values);
  values.Set(Metric::steps_total, static_cast<double>(core.counters.steps));
  values.Set(Metric::step_duration_seconds, core.counters.step_seconds);
  values.Set(Metric::last_trial_end_timestamp_seconds, core.last_end());
  values.Set(Metric::last_success_timestamp_seconds, core.last_success());
}

std::string DeviceState(const AgentSeats& agent, std::size_t slot) {
  if (agent.lost) return "lost";
  if (agent.drained[slot]) return "drained";
  return agent.held[slot] > 0 ? "busy" : "idle";
}

void CollectDeviceUsage(const Core& core, MetricValues& values) {
  for (const auto& [host, usage] : core.counters.device_usage) {
    if (usage.joules) values.Set(Metric::energy_joules_total, {host}, *usage.joules);
    if (usage.watched_seconds > 0)
      values.Set(Metric::device_busy_ratio, {host}, usage.busy_seconds / usage.watched_seconds);
  }
}

void CollectDevices(const Core& core, MetricValues& values) {
  for (const auto& [rank, agent] : core.fleet.agents()) {
    const cluster::Register& there = agent.registration;
    for (std::size_t slot = 0; slot < agent.held.size(); ++slot) {
      values.Add(Metric::devices, {DeviceState(agent, slot)}, 1);
      MetricValues::Labels labels = SeatLabels(rank, static_cast<int>(slot));
      labels.push_back(there.host);
      labels.push_back(slot < there.devices.size() ? there.devices[slot] : "");
      labels.push_back(slot < there.device_uuids.size() ? there.device_uuids[slot] : "");
      values.Set(Metric::worker_info, labels, 1);
    }
  }
}

void CollectGangs(const Core& core, Now now, MetricValues& values) {
  for (const auto& [trial, attempt] : core.fleet.active()) {
    if (!attempt.started) continue;
    const MetricValues::Labels seat = SeatLabels(attempt.leader(), attempt.seats.front().slot);
    values.Set(Metric::seat_progress_timestamp_seconds, seat,
               now.unix_seconds - (now.monotonic - attempt.watch.last()));
    values.Set(Metric::seat_deadline_seconds, seat, attempt.watch.allowed_without_margin());  // as its agent has it
    values.Set(Metric::seat_progress_ratio, seat, ComputeFractionDone(attempt.step, attempt.total_steps));
  }
}

void CollectRecords(const Core& core, const RunFacts& facts, MetricValues& values) {
  const Counters& counters = core.counters;
  values.Set(Metric::checkpoints_total, static_cast<double>(counters.checkpoints));
  values.Set(Metric::checkpoint_bytes_total, static_cast<double>(counters.checkpoint_bytes));
  values.Set(Metric::checkpoint_duration_seconds, counters.checkpoint_seconds);
  values.Set(Metric::journal_appends_total, static_cast<double>(counters.journal_records));
  values.Set(Metric::ledger_appends_total, static_cast<double>(counters.ledger_records));
  values.Set(Metric::journal_bytes, static_cast<double>(facts.journal_bytes));
  values.Set(Metric::ledger_bytes, static_cast<double>(facts.ledger_bytes));
  if (facts.free_bytes) values.Set(Metric::storage_free_bytes, static_cast<double>(*facts.free_bytes));
  values.Set(Metric::messages_received_total, static_cast<double>(counters.received));
  values.Set(Metric::stale_messages_total, static_cast<double>(counters.stale));
  values.Set(Metric::malformed_messages_total, static_cast<double>(facts.malformed));
}

// As the orchestrator sees them. A worker that is up without an attempt is idle. A gang has a worker on each of its
// seats; packed trials share a seat, and its device, each with a worker of its own.
void CollectWorkers(const Core& core, MetricValues& values) {
  int lost = 0, idle = 0, starting = 0, busy = 0;
  for (const auto& [rank, agent] : core.fleet.agents()) {
    if (agent.lost)
      lost += static_cast<int>(agent.held.size());
    else
      idle += static_cast<int>(std::count(agent.held.begin(), agent.held.end(), 0));
  }
  for (const auto& [trial, attempt] : core.fleet.active())
    (attempt.started ? busy : starting) += static_cast<int>(attempt.seats.size());
  values.Set(Metric::workers, {"starting"}, starting);
  values.Set(Metric::workers, {"busy"}, busy);
  values.Set(Metric::workers, {"idle"}, idle);
  values.Set(Metric::workers, {"dead"}, lost);
  values.Set(Metric::worker_spawns_total, static_cast<double>(core.counters.hellos));
  values.Set(Metric::agents, core.fleet.CountLiveAgents());
  values.Set(Metric::agents_expected, core.settings().world_size);
}

// Names of one set of examples show the same totals.
void CollectSpending(const std::vector<DataSpending>& spending, MetricValues& values) {
  for (const DataSpending& spent : spending) {
    for (const std::string& name : spent.names) {
      values.Set(Metric::epsilon_spent, {name, kClaim}, spent.root_epsilon);
      values.Set(Metric::epsilon_delta, {name}, spent.delta);
      if (spent.budget) values.Set(Metric::epsilon_budget, {name, kClaim}, spent.budget->epsilon);
    }
  }
}

// Every data set has a count of releases from the start, so that its rate is known from the first grant on.
void CollectPrivacy(const Core& core, const std::vector<DataSpending>& spending, MetricValues& values) {
  for (const DataSpending& spent : spending)
    for (const std::string& name : spent.names) values.Set(Metric::releases_total, {name}, 0);
  CollectSpending(spending, values);
  for (const auto& [data, count] : core.counters.releases)
    values.Set(Metric::releases_total, {data}, static_cast<double>(count));
}

// Whether the line is a sample of a family about spending, or a comment on one.
bool IsSpendingLine(std::string_view line) {
  for (const std::string_view comment : {"# HELP ", "# TYPE "})
    if (line.starts_with(comment)) line.remove_prefix(comment.size());
  const std::string_view name = line.substr(0, line.find_first_of("{ "));
  for (const Metric metric : {Metric::epsilon_spent, Metric::epsilon_delta, Metric::epsilon_budget})
    if (name == monitoring::FindFamily(metric).name) return true;
  return false;
}

// Returns the lines of a page that are about spending, or the others.
std::string SelectLines(std::string_view page, bool spending) {
  std::string lines;
  while (!page.empty()) {
    const std::size_t end = page.find('\n');
    const std::size_t size = end == std::string_view::npos ? page.size() : end + 1;
    if (IsSpendingLine(page.substr(0, size)) == spending) lines += page.substr(0, size);
    page.remove_prefix(size);
  }
  return lines;
}

}  // namespace

MetricValues RunMetrics::Collect(const Core& core, const RunFacts& facts, Now now, bool fresh) {
  MetricValues values;
  values.Set(Metric::build_info, {facts.version, facts.commit}, 1);
  values.Set(Metric::start_timestamp_seconds, facts.started.unix_seconds);
  values.Set(Metric::uptime_seconds, now.monotonic - facts.started.monotonic);
  values.Set(Metric::clock_timestamp_seconds, now.unix_seconds);
  CollectTrials(core, values);
  CollectWorkers(core, values);
  CollectDevices(core, values);
  CollectDeviceUsage(core, values);
  CollectGangs(core, now, values);
  CollectRecords(core, facts, values);
  if (const auto& left = estimate_.Of(core, now))
    values.Set(Metric::expected_end_timestamp_seconds, now.unix_seconds + left->seconds.mean);
  values.Set(Metric::samples_total, static_cast<double>(core.counters.samples));
  CollectPrivacy(core, fresh ? ComputeSpending(MakeSpendingFacts(core)) : spending_.Of(core, now), values);
  return values;
}

Status RepublishSpending(storage::Env& env, const Core& core) {
  const std::string path = core.settings().results + "/metrics.prom";
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, path));
  if (!there) return {};
  RETORT_ASSIGN_OR_RETURN(const std::string page, env.ReadFile(path));
  monitoring::MetricValues values;
  CollectSpending(ComputeSpending(MakeSpendingFacts(core)), values);
  return env.WriteFileAtomically(
      path, SelectLines(page, false) + SelectLines(monitoring::FormatExposition(values, core.sweep()), true));
}

Status RepublishLostSpending(storage::Env& env, const std::string& results) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, GetJournalPath(results)));
  if (!there) return {};
  Core core(Settings{.results = results, .provenance_json = {}});
  RETORT_ASSIGN_OR_RETURN(const storage::LogContents contents,
                          storage::ReadRecordLog(env, GetJournalPath(results), storage::LogKind::journal));
  JournalCodec codec;
  RETORT_RETURN_IF_ERROR(ReplayJournal(contents, codec, core));
  const Result<std::vector<storage::LedgerEntry>> ledger = storage::ReadLedger(env, GetLedgerPath(results));
  core.ledger_lost = ledger.ok() ? DescribeLostLedger(core, ledger->size()) : ledger.status().message();
  if (core.ledger_lost.empty()) return {};
  if (ledger.ok()) core.charges.Load(*ledger);
  ReadSurroundings(env, core);
  return RepublishSpending(env, core);
}

}  // namespace retort::orchestrator
