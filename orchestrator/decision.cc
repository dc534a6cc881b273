#include "orchestrator/decision.h"

#include "experiments/spec/spec_codec.h"
#include "orchestrator/reactor.h"
#include "orchestrator/retry_policy.h"
#include "orchestrator/row.h"
#include "orchestrator/scheduler.h"

namespace retort::orchestrator {
namespace {

cluster::Start StartOf(const Core& core, const Trial& trial, std::uint32_t attempt,
                       const std::string& device) {
  const TrialSpec& spec = trial.spec;
  const std::string& results = core.settings().results;
  cluster::Start start;
  start.spec = EncodeTrialSpec(spec);
  start.device = device;
  start.trial_directory = results + "/" + trial.folder;
  start.attempt_directory = start.trial_directory + "/attempt-" + std::to_string(attempt);
  start.data_path = spec.data ? spec.data->path : "";
  start.sweep = core.sweep();
  if (spec.parent) {
    const Trial& teacher = core.Get(*spec.parent);
    RETORT_CHECK(teacher.row.has_value());
    start.teacher_file = results + "/" + teacher.row->attempt_file;
  }
  return start;
}

void LeaseOne(Core& core, const Placement& placement, Now now, Outbox& outbox) {
  const Trial& trial = core.Get(placement.trial);
  const AttemptId attempt{placement.trial, trial.attempts + 1};
  const Generation generation = core.NextGeneration();
  ++core.counters.leases;
  const std::pair<int, int> member{placement.seat.rank.value, placement.seat.slot};
  Record(core, AttemptLeased{attempt, generation, {member}}, now, outbox);
  core.fleet.Occupy(placement.seat, attempt, generation,
                    StepWatch(now.monotonic, trial.spec.deadline_seconds, kAgentWatchMarginSeconds));
  const std::vector<std::string>& devices = core.fleet.agents().at(placement.seat.rank).registration.devices;
  const auto slot = static_cast<std::size_t>(placement.seat.slot);
  cluster::Lease lease;
  lease.members = {member};
  lease.slot = placement.seat.slot;
  lease.start = StartOf(core, trial, attempt.number, slot < devices.size() ? devices[slot] : "cpu");
  Send(outbox, placement.seat.rank, std::move(lease), attempt, generation);
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
              Outbox& outbox) {
  std::map<FailureKind, int> failures = core.Get(attempt.trial).failures;
  ++failures[failure];
  const RetryDecision decision = DecideRetry(failures, failure);
  AttemptEnded ended;
  ended.attempt = attempt;
  ended.for_good = !decision.retry;
  ended.failure = failure;
  ended.detail = detail;
  ended.retry_at = decision.wait_seconds > 0 ? now.unix_seconds + decision.wait_seconds : 0;
  core.fleet.Vacate(attempt.trial);
  ++core.counters.failures[failure];
  Record(core, std::move(ended), now, outbox);
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
