// Reactor: what happens because time passes.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "orchestrator/amendment.h"
#include "orchestrator/dead_end.h"
#include "orchestrator/decision.h"
#include "orchestrator/live_amendment.h"
#include "orchestrator/reactor.h"
#include "orchestrator/scheduler.h"

namespace retort::orchestrator {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
// Beyond the deadline that agents were given, for their answers to arrive.
constexpr double kStopMarginSeconds = 2;
// For a trial that has to leave its device, to save its state.
constexpr double kStepBackSeconds = 25;
// Between two looks for silence, at least and at most.
constexpr double kCloseWatchSeconds = 0.1;
constexpr double kLooseWatchSeconds = 1;

// What was found out about trials that share a device is recorded; those that are too many are saved and
// stopped, and wait for their turn.
void FollowPacking(Core& core, Now now, Outbox& outbox) {
  core.packing.Tick(now.monotonic);
  for (PackingMeasured& finding : core.packing.TakeFindings()) Record(core, std::move(finding), now, outbox);
  for (const TrialId trial : core.packing.TakeUnwelcome()) {
    const ActiveAttempt* attempt = core.fleet.Find(trial);
    if (attempt == nullptr || core.stop) continue;
    Send(outbox, attempt->leader(), cluster::Stop{true, kStepBackSeconds}, attempt->id, attempt->generation);
  }
}

void LoseSilentAgents(Core& core, Now now, Outbox& outbox) {
  std::vector<WorldRank> silent;
  for (const auto& [rank, agent] : core.fleet.agents())
    if (!agent.lost && now.monotonic - agent.last_heard >= kAgentSilenceSeconds) silent.push_back(rank);
  for (const WorldRank rank : silent) {
    for (const ActiveAttempt& attempt : core.fleet.AttemptsOn(rank)) {
      EndBadly(core, attempt.id, FailureKind::agent_lost,
               fmt::format("nothing was heard from rank {} for {:.0f} s", rank.value, kAgentSilenceSeconds),
               now, outbox);
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
    EndBadly(core, attempt.id, FailureKind::worker_hang,
             fmt::format("no progress for {:.3g} s", attempt.watch.allowed()), now, outbox);
  }
}

// Those who were heard since the last look can only fall silent later, and nobody falls silent sooner than
// kLooseWatchSeconds after it came: between two looks nothing is missed.
void WatchForSilence(Core& core, Now now, Outbox& outbox) {
  if (now.monotonic < core.silence_due) return;
  LoseSilentAgents(core, now, outbox);
  EndSilentAttempts(core, now, outbox);
  double next = now.monotonic + kLooseWatchSeconds;
  for (const auto& [rank, agent] : core.fleet.agents())
    if (!agent.lost) next = std::min(next, agent.last_heard + kAgentSilenceSeconds);
  for (const auto& [trial, attempt] : core.fleet.active()) next = std::min(next, attempt.watch.expires_at());
  core.silence_due = std::max(next, now.monotonic + kCloseWatchSeconds);
}

// So that whoever started the run can start it anew, with all its devices.
void StopAtDeadEnd(Core& core, Now now, Outbox& outbox) {
  if (core.stop) return;
  const std::string cause = DeadEnd(core, now);
  if (cause.empty())
    core.dead_end_since.reset();
  else if (!core.dead_end_since)
    core.dead_end_since = now.monotonic;
  else if (now.monotonic >= *core.dead_end_since + kDeadEndSeconds)
    OnStopRequested(core, cause, 0, now, outbox);
}

void EndWhenDone(Core& core, Now now, Outbox& outbox) {
  const bool idle = core.fleet.active().empty();
  const bool given_up = core.stop && now.monotonic >= core.stop->kill_at + kStopMarginSeconds;
  if (core.AllFinal() ? !idle && !given_up : !core.stop || (!idle && !given_up)) return;
  if (!core.AllFinal()) Record(core, SweepInterrupted{core.stop->cause}, now, outbox);
  for (int rank = 0; rank < core.settings().world_size; ++rank)
    Send(outbox, WorldRank{rank}, cluster::Shutdown{});
  core.ended = true;
}

}  // namespace

void OnWake(Core& core, Now now) {
  const double gap = core.last_tick ? now.monotonic - *core.last_tick : 0;
  if (gap > kHeartbeatSeconds) {
    core.fleet.Forgive(gap);
    if (core.dead_end_since) *core.dead_end_since += gap;
  }
  core.last_tick = now.monotonic;
}

void OnTick(Core& core, Now now, Outbox& outbox) {
  if (core.ended) return;
  OnWake(core, now);
  WatchForSilence(core, now, outbox);
  FinishCancels(core, now, outbox);
  WriteOwedRows(core, now, outbox);
  FollowPacking(core, now, outbox);
  LeaseQueued(core, now, outbox);
  StopAtDeadEnd(core, now, outbox);
  EndWhenDone(core, now, outbox);
}

double NextDeadline(const Core& core, Now now) {
  double next = core.fleet.agents().empty() ? kNever : core.silence_due;
  if (core.stop)
    next = std::min(next, core.stop->kill_at + kStopMarginSeconds);
  else if (const double retry = NextRetry(core, now); retry > 0)
    next = std::min(next, now.monotonic + retry - now.unix_seconds);
  if (core.dead_end_since && !core.stop) next = std::min(next, *core.dead_end_since + kDeadEndSeconds);
  return std::min(next, core.packing.NextDeadline());
}

int SweepExitCode(const Core& core) {
  if (!core.AllFinal()) return core.quota_spent ? 1 : ExitCode(StatusCode::cancelled);
  const std::size_t failed = core.CountIn(TrialState::failed);
  if (failed > 0 && failed == FailedByDisk(core).size()) return ExitCode(StatusCode::environment);
  return failed + core.CountIn(TrialState::parent_failed) > 0 ? 1 : 0;
}

}  // namespace retort::orchestrator
