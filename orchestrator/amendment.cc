#include "orchestrator/amendment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "orchestrator/dead_end.h"
#include "orchestrator/decision.h"

namespace retort::orchestrator {
namespace {

std::string Shown(const Trial& trial) {
  return fmt::format("{} ({})", trial.spec.name, trial.spec.id.Hex().substr(0, 8));
}

bool EndedBadly(TrialState state) { return IsFinal(state) && state != TrialState::succeeded; }

// The teacher that has to be tried again first, or null.
const Trial* TeacherInTheWay(const Core& core, const Trial& trial, const std::set<TrialId>& asked) {
  if (!trial.spec.parent || asked.contains(*trial.spec.parent)) return nullptr;
  const Trial& teacher = core.Get(*trial.spec.parent);
  return EndedBadly(teacher.state) ? &teacher : nullptr;
}

Status CheckRetry(const Core& core, const Trial& trial, const std::set<TrialId>& asked) {
  if (trial.state == TrialState::succeeded)
    return Refused(
        fmt::format("{} has succeeded, and its row is final: there is nothing to try again", Shown(trial)));
  if (!EndedBadly(trial.state)) return {};
  const Trial* teacher = TeacherInTheWay(core, trial, asked);
  if (teacher == nullptr) return CheckRoom(core, trial);
  return Refused(
      fmt::format("{} needs its teacher {}, which is {}: retry the teacher, and its students follow",
                  Shown(trial), Shown(*teacher), StateName(teacher->state)));
}

Status CheckCancel(const Trial& trial) {
  if (trial.state != TrialState::succeeded && trial.state != TrialState::failed) return {};
  return Refused(fmt::format("{} has {}: only what has not ended can be cancelled", Shown(trial),
                             StateName(trial.state)));
}

bool IsAsked(Amendment amendment, TrialState state) {
  return amendment == Amendment::retry ? !EndedBadly(state) : state == TrialState::cancelled;
}

}  // namespace

Status CheckAmendment(const Core& core, Amendment amendment, const std::vector<TrialId>& trials) {
  const std::set<TrialId> asked(trials.begin(), trials.end());
  for (const TrialId id : trials) {
    const Trial& trial = core.Get(id);
    RETORT_RETURN_IF_ERROR(amendment == Amendment::retry ? CheckRetry(core, trial, asked) : CheckCancel(trial));
  }
  return {};
}

Result<std::vector<TrialId>> Amend(Core& core, Amendment amendment, const std::vector<TrialId>& trials,
                                   Now now, Outbox& outbox) {
  RETORT_RETURN_IF_ERROR(CheckAmendment(core, amendment, trials));
  const std::set<TrialId> asked(trials.begin(), trials.end());
  std::vector<TrialState> before;
  for (const std::size_t index : core.plan()) before.push_back(core.At(index).state);
  // Teachers come first in the plan: a student that came back with its teacher needs nothing more.
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!asked.contains(trial.spec.id) || IsAsked(amendment, trial.state)) continue;
    if (amendment == Amendment::retry)
      Record(core, TrialReopened{trial.spec.id}, now, outbox);
    else
      Record(core, TrialCancelled{trial.spec.id}, now, outbox);
  }
  WriteOwedRows(core, now, outbox);
  std::vector<TrialId> changed;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Trial& trial = core.At(core.plan()[i]);
    if (trial.state != before[i]) changed.push_back(trial.spec.id);
  }
  return changed;
}

std::vector<TrialId> FailedTrials(const Core& core) {
  std::vector<TrialId> failed;
  for (const std::size_t index : core.plan())
    if (core.At(index).state == TrialState::failed) failed.push_back(core.At(index).spec.id);
  return failed;
}

std::vector<TrialId> FailedByDisk(const Core& core) {
  std::vector<TrialId> failed = FailedTrials(core);
  std::erase_if(failed, [&core](TrialId id) { return core.Get(id).failure != FailureKind::disk; });
  return failed;
}

}  // namespace retort::orchestrator
