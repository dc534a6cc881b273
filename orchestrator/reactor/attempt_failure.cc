#include "orchestrator/reactor/attempt_failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace retort::orchestrator {
namespace {

// Returns where else the trial has failed, as the end of a sentence; empty where it has not.
std::string DescribeEarlierFailure(const Core& core, TrialId trial, Seat place) {
  for (const Seat& seat : core.fleet.quarantine.FailedAt(trial))
    if (seat != place)
      return fmt::format("{}{} of rank {} as well, so it is not tried again", kFailedOnSlot, seat.slot,
                         seat.rank.value);
  return "";
}

// Returns the slot that the failure may be due to. Nothing where the kind of failure does not point at a slot, or where
// the member of a gang that failed is not known: all members hang when one does. `reporter`: the rank that reported it.
std::optional<Seat> FindFailedSlot(const Core& core, const ActiveAttempt& attempt, FailureKind failure,
                                   std::optional<WorldRank> reporter) {
  if (!IsAmbiguousFailure(failure)) return std::nullopt;
  if (attempt.seats.size() == 1) return core.fleet.FindSlot(attempt.seats.front());
  if (!reporter || failure == FailureKind::worker_hang) return std::nullopt;
  std::optional<Seat> place;
  for (const Seat& seat : attempt.seats) {
    if (seat.rank != *reporter) continue;
    if (place) return std::nullopt;
    place = core.fleet.FindSlot(seat);
  }
  return place;
}

// Largest number of devices that a trial needs which has not ended.
int FindMaxDevices(const Core& core) {
  int most = 1;
  for (const std::size_t index : core.plan())
    if (!IsFinal(core.At(index).state)) most = std::max(most, core.At(index).spec.devices);
  return most;
}

// Drains the slot, unless the trials that are left need it.
void DrainSlot(Core& core, Seat seat, Now now, Outbox& outbox) {
  const AgentSeats& agent = core.fleet.agents().at(seat.rank);
  if (agent.lost || agent.drained[static_cast<std::size_t>(seat.slot)]) return;
  if (core.fleet.CountLiveSlots() <= FindMaxDevices(core)) return;
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

// Stops the workers of an attempt that is over: the other members of a gang, and a worker that outlived its agent.
void StopMembers(const ActiveAttempt& attempt, Outbox& outbox) {
  for (const WorldRank rank : attempt.ranks())
    Send(outbox, rank, cluster::Stop{false, 0}, attempt.id, attempt.generation);
}

}  // namespace

RetryDecision DecideRetry(const std::map<FailureKind, int>& failures, FailureKind kind) {
  const RetryRule rule = FindRetryRule(kind);
  const auto found = failures.find(kind);
  const int ended = found == failures.end() ? 1 : found->second;
  if (ended >= rule.max_attempts) return {};
  // 2^60 times any back-off is past the cap.
  const double wait = std::ldexp(rule.backoff_seconds, std::min(ended - 1, 60));
  return {true, std::min(wait, kMaxBackoffSeconds)};
}

void FailAttempt(Core& core, AttemptId attempt, FailureKind failure, const std::string& detail, Now now, Outbox& outbox,
                 std::optional<WorldRank> reporter) {
  const Trial& trial = core.Get(attempt.trial);
  const bool out_of_memory = failure == FailureKind::out_of_memory;
  if (out_of_memory && core.packing.IsCrowded(attempt.trial)) failure = FailureKind::crowded;
  core.packing.Left(attempt.trial, out_of_memory, now.monotonic);
  std::map<FailureKind, int> failures = trial.failures;
  ++failures[failure];
  const std::optional<Seat> place = FindFailedSlot(core, *core.fleet.Find(attempt.trial), failure, reporter);
  const std::string before = place ? DescribeEarlierFailure(core, attempt.trial, *place) : "";
  const bool again = before.empty() && (!core.settings().hidden || failure == FailureKind::stopped);
  const RetryDecision decision = again ? DecideRetry(failures, failure) : RetryDecision();
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
    for (const Seat seat : core.fleet.quarantine.ClearSuspects(attempt.trial))
      RestoreSlot(core, seat, attempt.trial, now, outbox);
  } else if (place && core.fleet.quarantine.Failed(*place, attempt.trial)) {
    DrainSlot(core, *place, now, outbox);
  }
}

}  // namespace retort::orchestrator
