#include "orchestrator/decision.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/privacy/claim.h"
#include "orchestrator/host_key.h"
#include "orchestrator/packed_seats.h"
#include "orchestrator/reactor.h"
#include "orchestrator/retry_policy.h"
#include "orchestrator/row.h"
#include "orchestrator/scheduler.h"

namespace retort::orchestrator {
namespace {

// For all members but for what differs between them.
cluster::Start StartOf(Core& core, const Trial& trial, std::uint32_t attempt) {
  const TrialSpec& spec = trial.spec;
  const std::string& results = core.settings().results;
  cluster::Start start;
  start.spec = core.SpecText(spec.id);
  start.trial_directory = results + "/" + trial.folder;
  start.attempt_directory = start.trial_directory + "/attempt-" + std::to_string(attempt);
  start.data_path = spec.data ? spec.data->path : "";
  start.sweep = core.sweep();
  start.charged = core.charges.EventsOf(spec.id);
  if (spec.parent) {
    const Trial& teacher = core.Get(*spec.parent);
    RETORT_CHECK(teacher.row.has_value());
    start.teacher_file = results + "/" + teacher.row->attempt_file;
    start.teacher_parameters = teacher.row->parameters_digest;
    for (const privacy::Claim& claim : teacher.row->claims)
      start.teacher_claims.push_back(privacy::EncodeClaim(claim));
  }
  return start;
}

std::string DeviceOf(const AgentSeats& agent, int slot) {
  const std::vector<std::string>& devices = agent.registration.devices;
  const auto index = static_cast<std::size_t>(slot % std::max(1, agent.registration.slots));
  return index < devices.size() ? devices[index] : "cpu";
}

// Where the other members reach the one on `rank`: a gang that shares a host needs no network.
std::string GangHostOf(const Core& core, const std::vector<Seat>& seats, WorldRank rank) {
  if (seats.size() == 1) return "";
  const auto registration = [&core](WorldRank of) -> const cluster::Register& {
    return core.fleet.agents().at(of).registration;
  };
  const bool together = std::all_of(seats.begin(), seats.end(), [&](const Seat& seat) {
    return HostKey(registration(seat.rank)) == HostKey(registration(seats.front().rank));
  });
  if (together) return "127.0.0.1";
  const cluster::Register& own = registration(rank);
  return own.address.empty() ? own.host : own.address;
}

void LeaseOne(Core& core, const Placement& placement, Now now, Outbox& outbox) {
  const Trial& trial = core.Get(placement.trial);
  const AttemptId attempt = core.NextAttempt(trial);
  const Generation generation = core.NextGeneration();
  ++core.counters.leases;
  std::vector<std::pair<int, int>> members, slots;
  for (const Seat& seat : placement.seats) {
    members.emplace_back(seat.rank.value, seat.slot);
    slots.emplace_back(seat.rank.value, core.fleet.SlotOf(seat).slot);
  }
  Record(core, AttemptLeased{attempt, generation, std::move(slots)}, now, outbox);
  core.fleet.Occupy(placement.seats, attempt, generation,
                    StepWatch(now.monotonic, trial.spec.deadline_seconds, kAgentWatchMarginSeconds));
  SeatForPacking(core, trial.spec, placement.seats, now);
  cluster::Lease lease;
  lease.members = members;
  lease.start = StartOf(core, trial, attempt.number);
  lease.start.gang_size = static_cast<int>(placement.seats.size());
  for (const Seat& seat : placement.seats) {
    lease.slot = seat.slot;
    lease.start.device = DeviceOf(core.fleet.agents().at(seat.rank), seat.slot);
    lease.start.gang_host = GangHostOf(core, placement.seats, seat.rank);
    Send(outbox, seat.rank, lease, attempt, generation);
    ++lease.start.gang_rank;
  }
}

// Where else such a trial has failed, as the end of a sentence; empty when nowhere.
std::string FailedBefore(const Core& core, TrialId trial, Seat place) {
  for (const Seat& seat : core.fleet.quarantine.FailedAt(trial))
    if (seat != place)
      return fmt::format("{}{} of rank {} as well, so it is not tried again", kFailedOnSlot, seat.slot, seat.rank.value);
  return "";
}

// The slot that a failure speaks about; nothing when it speaks about none, or it is not known which member of
// a gang it was: its members all hang when one does. `reporter`: the rank that told.
std::optional<Seat> PlaceOf(const Core& core, const ActiveAttempt& attempt, FailureKind failure,
                            std::optional<WorldRank> reporter) {
  if (!IsTelling(failure)) return std::nullopt;
  if (attempt.seats.size() == 1) return core.fleet.SlotOf(attempt.seats.front());
  if (!reporter || failure == FailureKind::worker_hang) return std::nullopt;
  std::optional<Seat> place;
  for (const Seat& seat : attempt.seats) {
    if (seat.rank != *reporter) continue;
    if (place) return std::nullopt;
    place = core.fleet.SlotOf(seat);
  }
  return place;
}

// Of the trials that have not ended, the most that one needs.
int MostDevices(const Core& core) {
  int most = 1;
  for (const std::size_t index : core.plan())
    if (!IsFinal(core.At(index).state)) most = std::max(most, core.At(index).spec.devices);
  return most;
}

// Slots that are needed for what is left stay in use: whatever is wrong with them, nobody else can do it.
void DrainSlot(Core& core, Seat seat, Now now, Outbox& outbox) {
  const AgentSeats& agent = core.fleet.agents().at(seat.rank);
  if (agent.lost || agent.drained[static_cast<std::size_t>(seat.slot)]) return;
  if (core.fleet.LiveSeats() <= MostDevices(core)) return;
  SlotDrained drained{seat.rank.value, seat.slot, agent.registration.host, core.fleet.quarantine.SuspectsAt(seat)};
  core.fleet.Drain(seat);
  Record(core, std::move(drained), now, outbox);
}

void RestoreSlot(Core& core, Seat seat, TrialId trial, Now now, Outbox& outbox) {
  const auto agent = core.fleet.agents().find(seat.rank);
  if (agent == core.fleet.agents().end() || !agent->second.drained[static_cast<std::size_t>(seat.slot)]) return;
  core.fleet.Restore(seat);
  Record(core, SlotRestored{seat.rank.value, seat.slot, agent->second.registration.host, trial}, now, outbox);
}

// Wherever workers of an attempt that is over may still run: what is left of a gang is of no use, and a
// worker may outlive its agent.
void StopMembers(const ActiveAttempt& attempt, Outbox& outbox) {
  for (const WorldRank rank : attempt.ranks())
    Send(outbox, rank, cluster::Stop{false, 0}, attempt.id, attempt.generation);
}

}  // namespace

void Record(Core& core, Event event, Now now, Outbox& outbox) {
  JournalEvent recorded{now.unix_seconds, std::move(event)};
  const Status applied = core.Apply(recorded);
  if (!applied.ok()) CheckFailed("an event of our own is legal", __FILE__, __LINE__, applied.message());
  outbox.journal.push_back(std::move(recorded));
}

void Send(Outbox& outbox, WorldRank to, cluster::Message message, AttemptId attempt, Generation generation) {
  outbox.messages.push_back({to, {attempt, generation, 0, std::move(message)}});
}

void EndBadly(Core& core, AttemptId attempt, FailureKind failure, const std::string& detail, Now now,
              Outbox& outbox, std::optional<WorldRank> reporter) {
  const Trial& trial = core.Get(attempt.trial);
  const bool out_of_memory = failure == FailureKind::out_of_memory;
  if (out_of_memory && core.packing.IsCrowded(attempt.trial)) failure = FailureKind::crowded;
  core.packing.Left(attempt.trial, out_of_memory, now.monotonic);
  std::map<FailureKind, int> failures = trial.failures;
  ++failures[failure];
  const std::optional<Seat> place = PlaceOf(core, *core.fleet.Find(attempt.trial), failure, reporter);
  const std::string before = place ? FailedBefore(core, attempt.trial, *place) : "";
  const RetryDecision decision = before.empty() ? DecideRetry(failures, failure) : RetryDecision();
  AttemptEnded ended;
  ended.attempt = attempt;
  ended.for_good = !decision.retry;
  ended.failure = failure;
  ended.detail = detail + before;
  ended.retry_at = decision.wait_seconds > 0 ? now.unix_seconds + decision.wait_seconds : 0;
  StopMembers(*core.fleet.Find(attempt.trial), outbox);
  core.fleet.Vacate(attempt.trial);
  ++core.counters.failures[failure];
  if (decision.retry) ++core.counters.retries[failure];
  Record(core, std::move(ended), now, outbox);
  if (!before.empty()) {
    for (const Seat seat : core.fleet.quarantine.Blame(attempt.trial))
      RestoreSlot(core, seat, attempt.trial, now, outbox);
  } else if (place && core.fleet.quarantine.Failed(*place, attempt.trial)) {
    DrainSlot(core, *place, now, outbox);
  }
}

void WriteOwedRows(Core& core, Now now, Outbox& outbox) {
  while (!core.owed_rows().empty()) {
    const Trial& trial = core.At(core.owed_rows().begin()->second);
    Record(core, RowWritten{ComposeRow(core, trial)}, now, outbox);
  }
}

void LeaseQueued(Core& core, Now now, Outbox& outbox) {
  for (const Placement& placement : Schedule(core, now)) LeaseOne(core, placement, now, outbox);
}

}  // namespace retort::orchestrator
