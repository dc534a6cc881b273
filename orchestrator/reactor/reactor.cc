#include "orchestrator/reactor/reactor.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "orchestrator/core/fleet.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/amendment.h"
#include "orchestrator/reactor/attempt_failure.h"
#include "orchestrator/reactor/result_row.h"
#include "orchestrator/reactor/scheduler.h"

namespace retort::orchestrator {
namespace {

// The worker waits for each reservation, and the ledger syncs each.
constexpr int kMaxReservesAtOnce = 16;
constexpr double kMaxCounted = 9e18;  // of a counter that people read

void OnRegister(Core& core, WorldRank from, const cluster::Register& message, Now now, Outbox& outbox) {
  for (const ActiveAttempt& attempt : core.fleet.AttemptsOn(from))
    FailAttempt(core, attempt.id, FailureKind::agent_lost, "its agent started anew", now, outbox);
  core.fleet.Register(from, message, now.monotonic);
  AgentNoted joined{from.value, AgentChange::joined, message.host, message.devices};
  joined.devices.resize(static_cast<std::size_t>(std::max(0, message.slots)), "cpu");
  Record(core, std::move(joined), now, outbox);
  if (core.stop) Send(outbox, from, cluster::Drain{true, std::max(0.0, core.stop->kill_at - now.monotonic)});
}

// Any message from the worker means that it runs.
void NoteStarted(Core& core, ActiveAttempt& attempt, Now now, Outbox& outbox) {
  if (attempt.started) return;
  attempt.started = true;
  attempt.noted_at = now.monotonic;
  Record(core, AttemptStarted{attempt.id}, now, outbox);
}

// Limits how often changes of phase are journaled: one a second, and a few at once.
bool MayNotePhase(ActiveAttempt& attempt, double now) {
  attempt.phase_notes = std::min(kPhaseNotesAtOnce, attempt.phase_notes + now - attempt.phase_notes_at);
  attempt.phase_notes_at = now;
  if (attempt.phase_notes < 1) return false;
  attempt.phase_notes -= 1;
  return true;
}

// The first message of a resumed trial only says where it starts.
void CountSteps(Counters& counters, ActiveAttempt& attempt, std::int64_t step, double now) {
  if (attempt.step > 0 && step > attempt.step) {
    const auto made = static_cast<std::uint64_t>(step - attempt.step);
    counters.steps += made;
    counters.step_seconds.Observe((now - attempt.stepped_at) / static_cast<double>(made), made);
  }
  if (step != attempt.step) attempt.stepped_at = now;
}

void OnProgress(Core& core, ActiveAttempt& attempt, const cluster::Progress& message, Now now, Outbox& outbox) {
  attempt.watch.Progressed(now.monotonic, message.step, message.phase);
  if (message.total_steps == 0) {  // not training yet: of its steps this says nothing
    attempt.phase = message.phase;
    return;
  }
  CountSteps(core.counters, attempt, message.step, now.monotonic);
  core.packing.Progressed(attempt.id.trial, message.step, message.total_steps, now.monotonic);
  attempt.step = message.step;
  attempt.total_steps = message.total_steps;
  attempt.phase = message.phase;
  if (!message.series.empty()) attempt.series = message.series;
  const bool due = now.monotonic - attempt.noted_at >= kProgressNoteSeconds;
  if (!due && (attempt.noted_phase == message.phase || !MayNotePhase(attempt, now.monotonic))) return;
  attempt.noted_at = now.monotonic;
  attempt.noted_phase = message.phase;
  Record(core, ProgressNoted{attempt.id, message.step, message.total_steps, message.phase}, now, outbox);
}

// Returns why the reservation is invalid; empty where it is valid.
std::string DescribeMalformed(const cluster::Reserve& message) {
  if (message.count <= 0 || message.count > privacy::kMaxDraws)
    return fmt::format("a reservation of {} draws", message.count);
  const std::int64_t rows = message.event.rows_per_batch;
  if (rows < 1 || rows > privacy::kMaxRowsPerBatch) return fmt::format("a reservation of {} rows in a batch", rows);
  return "";
}

template <typename T>
std::vector<T> FindAll(const std::map<std::string, std::vector<T>>& by_digest, const std::string& digest) {
  const auto found = by_digest.find(digest);
  return found == by_digest.end() ? std::vector<T>() : found->second;
}

// Returns why the budgets of the data set do not allow the trial to draw `event` after all that it drew before.
std::optional<std::string> RefuseReservation(const Core& core, TrialId trial, const DataSpec& data,
                                             const privacy::PrivacyEvent& event) {
  PrivacyCharges::Events events = core.charges.CollectEvents(trial);
  events.push_back(event);
  const PrivacyCharges::Events counted = SelectCountedCharges(core, trial, std::move(events));
  if (counted.empty()) return std::nullopt;  // it costs the data nothing
  const std::string& examples = FindUnpackedDigest(core.charges.unpacked(), data.digest);
  return RefuseOverBudget(core.charges, data, counted.back(), MakeCountRule(core),
                          FindAll(core.other_spending, examples), FindAll(core.other_budgets, examples));
}

void OnReserve(Core& core, ActiveAttempt& attempt, const cluster::Reserve& message, Now now, Outbox& outbox) {
  attempt.watch.Advanced(now.monotonic);
  const WorldRank rank = attempt.leader();
  if (const auto known = attempt.grants.find(message.id); known != attempt.grants.end()) {
    // A repetition is not charged again. While the ledger still writes, the answer follows.
    if (known->second.entry)
      Send(outbox, rank, cluster::Reserved{message.id, true, ""}, attempt.id, attempt.generation);
    return;
  }
  const std::shared_ptr<const DataSpec> known_data = core.Get(attempt.id.trial).spec.data;
  if (known_data == nullptr) {
    Send(outbox, rank, cluster::Reserved{message.id, false, "the trial has no data set"}, attempt.id,
         attempt.generation);
    return;
  }
  const DataSpec& data = *known_data;
  privacy::PrivacyEvent event = message.event;
  event.count = message.count;
  const std::string& examples = FindUnpackedDigest(core.charges.unpacked(), data.digest);
  std::optional<std::string> refusal;
  if (std::string malformed = DescribeMalformed(message); !malformed.empty())
    refusal = std::move(malformed);
  else if (attempt.unwritten_grants >= kMaxReservesAtOnce)
    refusal = fmt::format("more than {} reservations at once", kMaxReservesAtOnce);
  else if (!message.drawn && (data.budget || core.other_budgets.contains(examples)))
    refusal = RefuseReservation(core, attempt.id.trial, data, event);
  if (refusal) {
    Send(outbox, rank, cluster::Reserved{message.id, false, *refusal}, attempt.id, attempt.generation);
    return;
  }
  Grant grant;
  grant.charge = core.charges.Add(data.digest, attempt.id.trial, event);
  attempt.grants[message.id] = grant;
  ++attempt.unwritten_grants;
  outbox.ledger.emplace_back(LedgerReserve{data.digest, attempt.id, attempt.generation, rank, message.id, event});
}

// Rows that the event annotates: one for each draw, or a whole batch. REQUIRES: DescribeMalformed is empty.
std::uint64_t CountAnnotatedRows(const privacy::PrivacyEvent& event) {
  using enum privacy::MechanismKind;
  // A training step annotates nothing, and what stands before an answer does not either.
  if (event.kind == subsampled_gaussian || event.kind == vote_threshold || event.kind == consensus_test ||
      event.kind == private_selection || event.kind == validation_count)
    return 0;
  const std::int64_t rows = event.unit == privacy::EventUnit::batch ? event.rows_per_batch : 1;
  const double product = static_cast<double>(event.count) * static_cast<double>(std::max<std::int64_t>(rows, 1));
  return static_cast<std::uint64_t>(std::min(product, kMaxCounted));
}

void OnSettle(Core& core, ActiveAttempt& attempt, const cluster::Settle& message, Now now, Outbox& outbox) {
  attempt.watch.Advanced(now.monotonic);
  const auto found = attempt.grants.find(message.id);
  // A reservation that cannot be settled stays charged in full.
  if (found == attempt.grants.end() || !found->second.entry || found->second.settled) return;
  Grant& grant = found->second;
  if (message.used < 0 || message.used > core.charges.Reserved(grant.charge)) return;
  grant.settled = true;
  core.charges.Settle(grant.charge, message.used);
  outbox.ledger.emplace_back(LedgerSettle{*grant.entry, message.used});
}

// A checkpoint of a step that is committed already, as before a stop, is no advance and is not journaled.
void OnCheckpoint(Core& core, ActiveAttempt& attempt, const cluster::CheckpointCommitted& message, Now now,
                  Outbox& outbox) {
  if (message.step <= attempt.committed) {
    ++core.counters.stale;
    return;
  }
  attempt.committed = message.step;
  ++core.counters.checkpoints;
  core.counters.checkpoint_bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(message.bytes, 0));
  core.counters.checkpoint_seconds.Observe(message.seconds);
  attempt.watch.Advanced(now.monotonic);
  Record(core, CheckpointNoted{attempt.id, message.step, message.digest}, now, outbox);
}

// Gang rank 0 has opened the store at which the others find it.
void OnGangAddress(ActiveAttempt& attempt, const cluster::GangAddress& message, Now now, Outbox& outbox) {
  attempt.watch.Advanced(now.monotonic);
  for (const WorldRank rank : attempt.ranks())
    Send(outbox, rank, cluster::GangReady{message.blob}, attempt.id, attempt.generation);
}

// Of an attempt that had `share` of a slot of its devices.
void NoteDeviceUsage(Core& core, WorldRank leader, const cluster::Ended& message, double share) {
  const auto find = [&message](std::string_view name) -> std::optional<double> {
    for (const auto& [known, value] : message.timings)
      if (known == name) return value;
    return std::nullopt;
  };
  const std::optional<double> joules = find("energy_joules"), busy = find("device_busy"), seconds = find("seconds");
  if (!joules && !busy) return;
  DeviceUsage& usage = core.counters.device_usage[core.fleet.agents().at(leader).registration.host];
  if (joules) usage.joules = usage.joules.value_or(0) + *joules * share;
  if (!busy || !seconds) return;
  usage.busy_seconds += *busy * *seconds;
  usage.watched_seconds += *seconds;
}

void OnEnded(Core& core, WorldRank from, ActiveAttempt& attempt, const cluster::Ended& message, Now now,
             Outbox& outbox) {
  const AttemptId id = attempt.id;
  if (!message.succeeded) {
    const bool named = message.failure != FailureKind::none;
    FailAttempt(core, id, named ? message.failure : FailureKind::internal, message.detail, now, outbox, from);
    return;
  }
  for (const Seat& seat : attempt.seats) core.fleet.quarantine.Succeeded(core.fleet.FindSlot(seat), id.trial);
  const double share = core.packing.ComputeMeanShare(id.trial, now.monotonic);
  core.packing.Left(id.trial, false, now.monotonic);
  NoteDeviceUsage(core, from, message, share);
  core.fleet.Vacate(id.trial);
  AttemptEnded ended;
  ended.attempt = id;
  ended.succeeded = true;
  ended.metrics = message.metrics;
  ended.timings = message.timings;
  if (share < 1) ended.timings.emplace_back(kDeviceShare, share);
  ended.parameters_digest = message.parameters_digest;
  ended.file = message.file;
  Record(core, std::move(ended), now, outbox);
}

// Messages that belong to an attempt.
void OnAttemptMessage(Core& core, WorldRank from, const cluster::Envelope& envelope, Now now, Outbox& outbox) {
  ActiveAttempt* attempt = core.fleet.Find(envelope.attempt, envelope.generation, from);
  if (attempt == nullptr) {
    ++core.counters.stale;
    return;
  }
  if (const auto* lost = std::get_if<cluster::WorkerLost>(&envelope.message)) {
    FailAttempt(core, attempt->id, lost->failure, lost->detail, now, outbox, from);
    return;
  }
  const auto* ended = std::get_if<cluster::Ended>(&envelope.message);
  if (from != attempt->leader() && (ended == nullptr || ended->succeeded)) {
    ++core.counters.stale;  // only gang rank 0 speaks for the gang
    return;
  }
  NoteStarted(core, *attempt, now, outbox);
  if (const auto* progress = std::get_if<cluster::Progress>(&envelope.message))
    OnProgress(core, *attempt, *progress, now, outbox);
  else if (const auto* reserve = std::get_if<cluster::Reserve>(&envelope.message))
    OnReserve(core, *attempt, *reserve, now, outbox);
  else if (const auto* settle = std::get_if<cluster::Settle>(&envelope.message))
    OnSettle(core, *attempt, *settle, now, outbox);
  else if (const auto* checkpoint = std::get_if<cluster::CheckpointCommitted>(&envelope.message))
    OnCheckpoint(core, *attempt, *checkpoint, now, outbox);
  else if (const auto* address = std::get_if<cluster::GangAddress>(&envelope.message))
    OnGangAddress(*attempt, *address, now, outbox);
  else if (ended != nullptr)
    OnEnded(core, from, *attempt, *ended, now, outbox);
}

bool BelongsToAttempt(const cluster::Message& message) {
  return std::holds_alternative<cluster::Progress>(message) || std::holds_alternative<cluster::Reserve>(message) ||
         std::holds_alternative<cluster::Settle>(message) || std::holds_alternative<cluster::GangAddress>(message) ||
         std::holds_alternative<cluster::Ended>(message) ||
         std::holds_alternative<cluster::CheckpointCommitted>(message) ||
         std::holds_alternative<cluster::WorkerLost>(message);
}

}  // namespace

void OnMessage(Core& core, WorldRank from, const cluster::Envelope& envelope, Now now, Outbox& outbox) {
  ++core.counters.received;
  if (const auto* registration = std::get_if<cluster::Register>(&envelope.message)) {
    OnRegister(core, from, *registration, now, outbox);
    return;
  }
  const bool was_lost = core.fleet.IsLost(from);
  if (!core.fleet.Heard(from, now.monotonic)) {
    ++core.counters.stale;  // of an agent that never registered
    return;
  }
  if (was_lost) Record(core, AgentNoted{from.value, AgentChange::returned, "", {}}, now, outbox);
  if (BelongsToAttempt(envelope.message))
    OnAttemptMessage(core, from, envelope, now, outbox);
  else if (std::holds_alternative<cluster::Hello>(envelope.message))
    ++core.counters.hellos;
  else if (const auto* drain = std::get_if<cluster::Drain>(&envelope.message))
    OnStopRequested(core, fmt::format("rank {} was signalled", from.value), drain->deadline_seconds, now, outbox);
  else if (const auto* heartbeat = std::get_if<cluster::Heartbeat>(&envelope.message))
    core.packing.SawMemory(GetHostKey(core.fleet.agents().at(from).registration), heartbeat->memory_available,
                           heartbeat->worker_peak);
  else
    ++core.counters.stale;
}

void OnLedgerReserved(Core& core, const LedgerReserve& reserve, std::uint64_t entry, Outbox& outbox) {
  const auto draws = static_cast<std::uint64_t>(reserve.event.count);
  core.counters.releases[core.Get(reserve.attempt.trial).spec.data->name] += draws;
  core.counters.samples += CountAnnotatedRows(reserve.event);
  ActiveAttempt* attempt = core.fleet.Find(reserve.attempt, reserve.generation, reserve.rank);
  if (attempt == nullptr) return;  // it ended meanwhile; the reservation stays spent
  attempt->grants.at(reserve.request).entry = entry;
  --attempt->unwritten_grants;
  Send(outbox, reserve.rank, cluster::Reserved{reserve.request, true, ""}, reserve.attempt, reserve.generation);
}

void OnStopRequested(Core& core, const std::string& cause, double grace_seconds, Now now, Outbox& outbox) {
  if (core.stop || core.ended) return;
  core.stop = StopRequest{cause, now.monotonic + grace_seconds};
  for (const auto& [rank, agent] : core.fleet.agents())
    if (!agent.lost) Send(outbox, rank, cluster::Drain{true, grace_seconds});
}

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Time after the deadline of the agents for their answers to arrive.
constexpr double kStopMarginSeconds = 2;
// Time for an evicted trial to save its state.
constexpr double kEvictionGraceSeconds = 25;
// Shortest and longest time between two checks for silence.
constexpr double kMinSilenceCheckSeconds = 0.1;
constexpr double kMaxSilenceCheckSeconds = 1;

// Records what was measured about trials that share a device, and stops the trials that are too many; they save their
// state and are queued again.
void ApplyPackingFindings(Core& core, Now now, Outbox& outbox) {
  core.packing.Tick(now.monotonic);
  for (PackingMeasured& finding : core.packing.TakeFindings()) Record(core, std::move(finding), now, outbox);
  for (const TrialId trial : core.packing.TakeEvictions()) {
    const ActiveAttempt* attempt = core.fleet.Find(trial);
    if (attempt == nullptr || core.stop) continue;
    Send(outbox, attempt->leader(), cluster::Stop{true, kEvictionGraceSeconds}, attempt->id, attempt->generation);
  }
}

void LoseSilentAgents(Core& core, Now now, Outbox& outbox) {
  std::vector<WorldRank> silent;
  for (const auto& [rank, agent] : core.fleet.agents())
    if (!agent.lost && now.monotonic - agent.last_heard >= kAgentSilenceSeconds) silent.push_back(rank);
  for (const WorldRank rank : silent) {
    for (const ActiveAttempt& attempt : core.fleet.AttemptsOn(rank)) {
      FailAttempt(core, attempt.id, FailureKind::agent_lost,
                  fmt::format("nothing was heard from rank {} for {:.0f} s", rank.value, kAgentSilenceSeconds), now,
                  outbox);
    }
    core.fleet.Lose(rank);
    Record(core, AgentNoted{rank.value, AgentChange::lost, "", {}}, now, outbox);
  }
}

void EndSilentAttempts(Core& core, Now now, Outbox& outbox) {
  std::vector<ActiveAttempt> silent;
  for (const auto& [trial, attempt] : core.fleet.active())
    if (now.monotonic >= attempt.watch.expires_at()) silent.push_back(attempt);
  for (const ActiveAttempt& attempt : silent) {
    FailAttempt(core, attempt.id, FailureKind::worker_hang,
                fmt::format("no progress for {:.3g} s", attempt.watch.allowed()), now, outbox);
  }
}

// An agent that was heard since the last check can only fall silent later, and no agent falls silent sooner than
// kMaxSilenceCheckSeconds after it registered, so no silence is missed between two checks.
void EndSilent(Core& core, Now now, Outbox& outbox) {
  if (now.monotonic < core.silence_due) return;
  LoseSilentAgents(core, now, outbox);
  EndSilentAttempts(core, now, outbox);
  double next = now.monotonic + kMaxSilenceCheckSeconds;
  for (const auto& [rank, agent] : core.fleet.agents())
    if (!agent.lost) next = std::min(next, agent.last_heard + kAgentSilenceSeconds);
  for (const auto& [trial, attempt] : core.fleet.active()) next = std::min(next, attempt.watch.expires_at());
  core.silence_due = std::max(next, now.monotonic + kMinSilenceCheckSeconds);
}

// Stops a run in which nothing can start, so that it can be started anew with all its devices.
void StopWhenNothingCanStart(Core& core, Now now, Outbox& outbox) {
  if (core.stop) return;
  const std::string cause = FindDeadlock(core, now);
  if (cause.empty())
    core.dead_end_since.reset();
  else if (!core.dead_end_since)
    core.dead_end_since = now.monotonic;
  else if (now.monotonic >= *core.dead_end_since + kDeadlockSeconds)
    OnStopRequested(core, cause, 0, now, outbox);
}

void EndWhenDone(Core& core, Now now, Outbox& outbox) {
  if (core.more_may_come && core.AllFinal()) return;
  const bool idle = core.fleet.active().empty();
  const bool given_up = core.stop && now.monotonic >= core.stop->kill_at + kStopMarginSeconds;
  if (core.AllFinal() ? !idle && !given_up : !core.stop || (!idle && !given_up)) return;
  if (!core.AllFinal()) Record(core, SweepInterrupted{core.stop->cause}, now, outbox);
  for (int rank = 0; rank < core.settings().world_size; ++rank) Send(outbox, WorldRank{rank}, cluster::Shutdown{});
  core.ended = true;
}

}  // namespace

void OnWake(Core& core, Now now) {
  const double gap = core.last_tick ? now.monotonic - *core.last_tick : 0;
  if (gap > kHeartbeatSeconds) {
    core.fleet.IgnoreGap(gap);
    if (core.dead_end_since) *core.dead_end_since += gap;
  }
  core.last_tick = now.monotonic;
}

void OnTick(Core& core, Now now, Outbox& outbox) {
  if (core.ended) return;
  OnWake(core, now);
  EndSilent(core, now, outbox);
  FinishCancels(core, now, outbox);
  WriteMissingRows(core, now, outbox);
  ApplyPackingFindings(core, now, outbox);
  LeaseQueued(core, now, outbox);
  StopWhenNothingCanStart(core, now, outbox);
  EndWhenDone(core, now, outbox);
}

double FindNextDeadline(const Core& core, Now now) {
  double next = core.fleet.agents().empty() ? kNever : core.silence_due;
  if (core.stop)
    next = std::min(next, core.stop->kill_at + kStopMarginSeconds);
  else if (const double retry = FindNextRetry(core, now); retry > 0)
    next = std::min(next, now.monotonic + retry - now.unix_seconds);
  if (core.dead_end_since && !core.stop) next = std::min(next, *core.dead_end_since + kDeadlockSeconds);
  return std::min(next, core.packing.NextDeadline());
}

int ChooseSweepExitCode(const Core& core) {
  if (!core.AllFinal()) return core.quota_spent ? 1 : GetExitCode(StatusCode::cancelled);
  const std::size_t failed = core.CountIn(TrialState::failed);
  if (failed > 0 && failed == ListFailedByDisk(core).size()) return GetExitCode(StatusCode::environment);
  return failed + core.CountIn(TrialState::parent_failed) > 0 ? 1 : 0;
}

namespace {

Status CheckPlan(const Core& core, const SweepPlan& plan) {
  if (core.opened() && core.sweep() != plan.name)
    return UsageError(
        fmt::format("the results folder {} belongs to sweep '{}', not '{}': give this sweep a folder of "
                    "its own with --results",
                    core.settings().results, core.sweep(), plan.name));
  std::set<TrialId> seen;
  for (const TrialSpec& spec : plan.trials) {
    if (!seen.insert(spec.id).second)
      return UsageError(fmt::format("trial {} ({}) is planned twice", spec.name, spec.id.Hex()));
    if (spec.parent && !seen.contains(*spec.parent))
      return UsageError(
          fmt::format("trial {}: its teacher {} is not planned before it", spec.name, spec.parent->Hex()));
  }
  return {};
}

bool SamePlan(const Core& core, const SweepPlan& plan) {
  if (core.plan().size() != plan.trials.size() || core.resolved_toml() != plan.resolved_toml) return false;
  for (std::size_t i = 0; i < plan.trials.size(); ++i)
    if (core.At(core.plan()[i]).spec.id != plan.trials[i].id) return false;
  return true;
}

// Whether a known trial has another number of a suggestion, as one has that a search took up again.
bool HasOtherNumbers(const Core& core, const SweepPlan& plan) {
  return std::any_of(plan.trials.begin(), plan.trials.end(), [&core](const TrialSpec& spec) {
    const Trial* known = core.Find(spec.id);
    return known != nullptr && FindSuggestion(known->spec) != FindSuggestion(spec);
  });
}

// A known trial is planned again where fields changed that are no part of its identity.
void PlanTrial(Core& core, const TrialSpec& spec, Now now, Outbox& outbox) {
  TrialPlanned planned = MakeTrialPlanned(spec);
  const Trial* known = core.Find(spec.id);
  if (known != nullptr && known->spec_hash == std::hash<std::string>()(planned.spec_json)) return;
  Record(core, std::move(planned), now, outbox);
}

}  // namespace

Status OpenSweep(Core& core, const SweepPlan& plan, Now now, Outbox& outbox) {
  RETORT_RETURN_IF_ERROR(CheckPlan(core, plan));
  core.quota = plan.quota;
  core.fills_slots = plan.search && plan.search->IsAsynchronous();
  const bool same = core.opened() && SamePlan(core, plan);
  if (same && core.AllFinal() && core.missing_rows().empty() && !HasOtherNumbers(core, plan)) return {};
  const std::string& provenance = core.settings().provenance_json;
  if (core.opened()) Record(core, RunStarted{provenance}, now, outbox);
  // A folder of an older format is continued in the newest format.
  if (!same || core.format_version() != kResultsFormatVersion)
    Record(core, SweepOpened{kResultsFormatVersion, plan.name, plan.resolved_toml, provenance}, now, outbox);
  for (const auto& [digest, unpacked] : plan.unpacked)
    if (!core.charges.unpacked().contains(digest)) Record(core, DataNoted{digest, unpacked}, now, outbox);
  if (core.noted_root().empty() && !core.settings().root.empty())
    Record(core, RootNoted{core.settings().root}, now, outbox);
  for (const TrialSpec& spec : plan.trials) PlanTrial(core, spec, now, outbox);
  if (!same) {
    PlanAdopted adopted;
    for (const TrialSpec& spec : plan.trials) adopted.order.push_back(spec.id);
    Record(core, std::move(adopted), now, outbox);
  }
  WriteMissingRows(core, now, outbox);
  return {};
}

Status ExtendSweep(Core& core, const SweepPlan& plan, Now now, Outbox& outbox) {
  RETORT_RETURN_IF_ERROR(CheckPlan(core, plan));
  std::set<TrialId> kept;
  PlanAdopted adopted;
  for (const TrialSpec& spec : plan.trials) {
    kept.insert(spec.id);
    adopted.order.push_back(spec.id);
  }
  for (const std::size_t index : core.plan())
    if (const TrialSpec& spec = core.At(index).spec; !kept.contains(spec.id))
      return Refused(fmt::format("trial {} ({}) was suggested, and is no longer: a search only adds trials", spec.name,
                                 spec.id.Hex()));
  for (const TrialSpec& spec : plan.trials)
    if (core.fleet.Find(spec.id) == nullptr) PlanTrial(core, spec, now, outbox);
  if (adopted.order.size() > core.plan().size()) Record(core, std::move(adopted), now, outbox);
  return {};
}

}  // namespace retort::orchestrator
