#include "orchestrator/reactor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "orchestrator/budget.h"
#include "orchestrator/decision.h"
#include "orchestrator/host_key.h"
#include "orchestrator/row.h"
#include "orchestrator/scheduler.h"

namespace retort::orchestrator {
namespace {

// A worker waits for each; the ledger syncs each.
constexpr int kMostReservesAtOnce = 16;
constexpr double kMostCounted = 9e18;  // of a counter that people read

void OnRegister(Core& core, WorldRank from, const cluster::Register& message, Now now, Outbox& outbox) {
  for (const ActiveAttempt& attempt : core.fleet.AttemptsOn(from))
    EndBadly(core, attempt.id, FailureKind::agent_lost, "its agent started anew", now, outbox);
  core.fleet.Register(from, message, now.monotonic);
  AgentNoted joined{from.value, AgentChange::joined, message.host, message.devices};
  joined.devices.resize(static_cast<std::size_t>(std::max(0, message.slots)), "cpu");
  Record(core, std::move(joined), now, outbox);
  if (core.stop) Send(outbox, from, cluster::Drain{true, std::max(0.0, core.stop->kill_at - now.monotonic)});
}

// Any word from the worker means that it runs.
void NoteStarted(Core& core, ActiveAttempt& attempt, Now now, Outbox& outbox) {
  if (attempt.started) return;
  attempt.started = true;
  attempt.noted_at = now.monotonic;
  Record(core, AttemptStarted{attempt.id}, now, outbox);
}

// A worker that changes its phase without end does not fill the journal: one change a second, and a few at
// once.
bool MayNotePhase(ActiveAttempt& attempt, double now) {
  attempt.phase_notes = std::min(kPhaseNotesAtOnce, attempt.phase_notes + now - attempt.phase_notes_at);
  attempt.phase_notes_at = now;
  if (attempt.phase_notes < 1) return false;
  attempt.phase_notes -= 1;
  return true;
}

// Of a resumed trial, the first word only says where it is.
void CountSteps(Counters& counters, ActiveAttempt& attempt, std::int64_t step, double now) {
  if (attempt.step > 0 && step > attempt.step) {
    const auto made = static_cast<std::uint64_t>(step - attempt.step);
    counters.steps += made;
    counters.step_seconds.Observe((now - attempt.stepped_at) / static_cast<double>(made), made);
  }
  if (step != attempt.step) attempt.stepped_at = now;
}

void OnProgress(Core& core, ActiveAttempt& attempt, const cluster::Progress& message, Now now,
                Outbox& outbox) {
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

// Why no such reservation is granted to anybody; empty when it may be.
std::string Malformed(const cluster::Reserve& message) {
  if (message.count <= 0 || message.count > privacy::kMostDraws)
    return fmt::format("a reservation of {} draws", message.count);
  const std::int64_t rows = message.event.rows_per_batch;
  if (rows < 1 || rows > privacy::kMostRowsPerBatch)
    return fmt::format("a reservation of {} rows in a batch", rows);
  return "";
}

template <typename T>
std::vector<T> Known(const std::map<std::string, std::vector<T>>& by_digest, const std::string& digest) {
  const auto found = by_digest.find(digest);
  return found == by_digest.end() ? std::vector<T>() : found->second;
}

// Why the data set's budgets do not let the trial draw `event`, seen with all that it drew before.
std::optional<std::string> RefusalOf(const Core& core, TrialId trial, const DataSpec& data,
                                     const privacy::PrivacyEvent& event) {
  ChargeBook::Events events = core.charges.EventsOf(trial);
  events.push_back(event);
  const ChargeBook::Events counted = ChargesOf(core, trial, std::move(events));
  if (counted.empty()) return std::nullopt;  // it costs the data nothing
  const std::string& examples = UnpackedOf(core.charges.unpacked(), data.digest);
  return RefuseOverBudget(core.charges, data, counted.back(), CountsOf(core), Known(core.charged_elsewhere, examples),
                          Known(core.other_budgets, examples));
}

void OnReserve(Core& core, ActiveAttempt& attempt, const cluster::Reserve& message, Now now, Outbox& outbox) {
  attempt.watch.Advanced(now.monotonic);
  const WorldRank rank = attempt.leader();
  if (const auto known = attempt.grants.find(message.id); known != attempt.grants.end()) {
    // Said twice: charged once. While the ledger still writes, its answer will come.
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
  const std::string& examples = UnpackedOf(core.charges.unpacked(), data.digest);
  std::optional<std::string> refusal;
  if (std::string malformed = Malformed(message); !malformed.empty())
    refusal = std::move(malformed);
  else if (attempt.unwritten_grants >= kMostReservesAtOnce)
    refusal = fmt::format("more than {} reservations at once", kMostReservesAtOnce);
  else if (!message.drawn && (data.budget || core.other_budgets.contains(examples)))
    refusal = RefusalOf(core, attempt.id.trial, data, event);
  if (refusal) {
    Send(outbox, rank, cluster::Reserved{message.id, false, *refusal}, attempt.id, attempt.generation);
    return;
  }
  Grant grant;
  grant.charge = core.charges.Add(data.digest, attempt.id.trial, event);
  attempt.grants[message.id] = grant;
  ++attempt.unwritten_grants;
  outbox.ledger.emplace_back(
      LedgerReserve{data.digest, attempt.id, attempt.generation, rank, message.id, event});
}

// Rows that the event annotates: one for each draw, or a whole batch. Within the bounds of Malformed.
std::uint64_t RowsOf(const privacy::PrivacyEvent& event) {
  if (event.kind == privacy::MechanismKind::subsampled_gaussian)
    return 0;  // a training step annotates nothing
  const std::int64_t rows = event.unit == privacy::EventUnit::batch ? event.rows_per_batch : 1;
  const double product =
      static_cast<double>(event.count) * static_cast<double>(std::max<std::int64_t>(rows, 1));
  return static_cast<std::uint64_t>(std::min(product, kMostCounted));
}

void OnSettle(Core& core, ActiveAttempt& attempt, const cluster::Settle& message, Now now, Outbox& outbox) {
  attempt.watch.Advanced(now.monotonic);
  const auto found = attempt.grants.find(message.id);
  // What cannot be settled stays charged in full.
  if (found == attempt.grants.end() || !found->second.entry || found->second.settled) return;
  Grant& grant = found->second;
  if (message.used < 0 || message.used > core.charges.Reserved(grant.charge)) return;
  grant.settled = true;
  core.charges.Settle(grant.charge, message.used);
  outbox.ledger.emplace_back(LedgerSettle{*grant.entry, message.used});
}

// One that tells nothing new, as the last one before a stop may, is no sign of life and nothing for the
// journal.
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

void OnEnded(Core& core, WorldRank from, ActiveAttempt& attempt, const cluster::Ended& message, Now now,
             Outbox& outbox) {
  const AttemptId id = attempt.id;
  if (!message.succeeded) {
    const bool named = message.failure != FailureKind::none;
    EndBadly(core, id, named ? message.failure : FailureKind::internal, message.detail, now, outbox, from);
    return;
  }
  for (const Seat& seat : attempt.seats) core.fleet.quarantine.Succeeded(core.fleet.SlotOf(seat), id.trial);
  const double share = core.packing.ShareOf(id.trial, now.monotonic);
  core.packing.Left(id.trial, false, now.monotonic);
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
void OnAttemptMessage(Core& core, WorldRank from, const cluster::Envelope& envelope, Now now,
                      Outbox& outbox) {
  ActiveAttempt* attempt = core.fleet.Find(envelope.attempt, envelope.generation, from);
  if (attempt == nullptr) {
    ++core.counters.stale;
    return;
  }
  if (const auto* lost = std::get_if<cluster::WorkerLost>(&envelope.message)) {
    EndBadly(core, attempt->id, lost->failure, lost->detail, now, outbox, from);
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
  return std::holds_alternative<cluster::Progress>(message) ||
         std::holds_alternative<cluster::Reserve>(message) ||
         std::holds_alternative<cluster::Settle>(message) ||
         std::holds_alternative<cluster::GangAddress>(message) ||
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
    OnStopRequested(core, fmt::format("rank {} was signalled", from.value), drain->deadline_seconds, now,
                    outbox);
  else if (const auto* heartbeat = std::get_if<cluster::Heartbeat>(&envelope.message))
    core.packing.SawMemory(HostKey(core.fleet.agents().at(from).registration), heartbeat->memory_available,
                           heartbeat->worker_peak);
  else
    ++core.counters.stale;
}

void OnLedgerReserved(Core& core, const LedgerReserve& reserve, std::uint64_t entry, Outbox& outbox) {
  const auto draws = static_cast<std::uint64_t>(reserve.event.count);
  core.counters.releases[core.Get(reserve.attempt.trial).spec.data->name] += draws;
  core.counters.samples += RowsOf(reserve.event);
  ActiveAttempt* attempt = core.fleet.Find(reserve.attempt, reserve.generation, reserve.rank);
  if (attempt == nullptr) return;  // it ended meanwhile; the reservation stays spent
  attempt->grants.at(reserve.request).entry = entry;
  --attempt->unwritten_grants;
  Send(outbox, reserve.rank, cluster::Reserved{reserve.request, true, ""}, reserve.attempt,
       reserve.generation);
}

void OnStopRequested(Core& core, const std::string& cause, double grace_seconds, Now now, Outbox& outbox) {
  if (core.stop || core.ended) return;
  core.stop = StopRequest{cause, now.monotonic + grace_seconds};
  for (const auto& [rank, agent] : core.fleet.agents())
    if (!agent.lost) Send(outbox, rank, cluster::Drain{true, grace_seconds});
}

}  // namespace retort::orchestrator
