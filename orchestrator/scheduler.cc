#include "orchestrator/scheduler.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "orchestrator/free_seats.h"
#include "orchestrator/packed_seats.h"
#include "orchestrator/quota_gate.h"
#include "orchestrator/retry_policy.h"
#include "orchestrator/time_fit.h"

namespace retort::orchestrator {

std::vector<Placement> Schedule(const Core& core, Now now) {
  std::vector<Placement> placements;
  if (core.stop || !core.may_lease || core.ready().empty()) return placements;
  if (!core.fleet.HasFreeSeat() && core.packing.empty()) return placements;
  FreeSeats free(core.fleet);
  PackedSeats packed(core);
  std::optional<int> left_over;  // the highest priority, negated, of a trial that found no place
  bool kept = false;
  QuotaGate gate(core, now);
  for (const Core::ReadyKey& key : core.ready()) {
    if (free.empty() && (packed.empty() || kept)) break;
    const Trial& trial = core.At(key.index);
    if (gate.Full(static_cast<std::int64_t>(placements.size()))) break;
    if (!gate.Admits(trial)) continue;
    if (!RetryIsDue(trial.retry_at, now.unix_seconds)) continue;
    if (!TimeRefusal(core, trial, now).empty()) continue;
    if (trial.spec.devices == 1) {
      std::optional<Seat> seat = free.TakeOne(core.fleet.quarantine.FailedAt(trial.spec.id));
      if (seat) packed.Close({*seat});
      const bool may_pass = !kept && (!left_over || *left_over == key.negative_priority);
      if (!seat && may_pass) seat = packed.Take(trial.spec);
      if (!seat) {
        if (!left_over) left_over = key.negative_priority;
        continue;
      }
      placements.push_back({trial.spec.id, {*seat}});
    } else if (auto seats = free.TakeGang(trial.spec.devices)) {
      packed.Close(*seats);
      placements.push_back({trial.spec.id, std::move(*seats)});
    } else {
      const bool can_start = core.fleet.LiveSeats() >= trial.spec.devices;
      if (can_start && !kept) free.KeepFor(trial.spec.devices);
      kept = kept || can_start;
      continue;
    }
    gate.Started(trial);
  }
  return placements;
}

namespace {

Status CheckPlaceable(const TrialSpec& spec, int seats, std::size_t ranks) {
  if (spec.devices <= seats) return {};
  return UsageError(
      fmt::format("trial {}: devices = {}, but this run has {} in all ({} rank{}): lower `devices`, or start more "
                  "ranks, or more workers on each (--slots).",
                  spec.name, spec.devices, seats, ranks, ranks == 1 ? "" : "s"));
}

}  // namespace

Status CheckPlaceable(const Core& core) {
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (IsFinal(trial.state)) continue;
    RETORT_RETURN_IF_ERROR(CheckPlaceable(trial.spec, core.fleet.LiveSeats(), core.fleet.agents().size()));
  }
  return {};
}

Status CheckPlaceable(const SweepPlan& plan, int devices) {
  for (const TrialSpec& spec : plan.trials) RETORT_RETURN_IF_ERROR(CheckPlaceable(spec, devices, 1));
  return {};
}

double NextRetry(const Core& core, Now now) {
  // The first that lies ahead; one that is due all the same is so because the clock was put back, and so are
  // all after it.
  const auto next = core.retries().upper_bound({now.unix_seconds, ~std::size_t{0}});
  return next == core.retries().end() || RetryIsDue(next->first, now.unix_seconds) ? 0 : next->first;
}

}  // namespace retort::orchestrator
