#include "orchestrator/reactor/amendment.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/attempt_failure.h"
#include "orchestrator/reactor/result_row.h"

namespace retort::orchestrator {
namespace {

std::string FormatTrial(const Trial& trial) {
  return fmt::format("{} ({})", trial.spec.name, trial.spec.id.Hex().substr(0, 8));
}

bool EndedBadly(TrialState state) { return IsFinal(state) && state != TrialState::succeeded; }

// Returns the teacher that has to be retried first, or null.
const Trial* TeacherInTheWay(const Core& core, const Trial& trial, const std::set<TrialId>& asked) {
  if (!trial.spec.parent || asked.contains(*trial.spec.parent)) return nullptr;
  const Trial& teacher = core.Get(*trial.spec.parent);
  return EndedBadly(teacher.state) ? &teacher : nullptr;
}

Status CheckRetry(const Core& core, const Trial& trial, const std::set<TrialId>& asked) {
  if (trial.state == TrialState::succeeded)
    return Refused(
        fmt::format("{} has succeeded, and its row is final: there is nothing to try again", FormatTrial(trial)));
  if (!EndedBadly(trial.state)) return {};
  const Trial* teacher = TeacherInTheWay(core, trial, asked);
  if (teacher == nullptr) return CheckEnoughDevices(core, trial);
  return Refused(fmt::format("{} needs its teacher {}, which is {}: retry the teacher, and its students follow",
                             FormatTrial(trial), FormatTrial(*teacher), GetStateName(teacher->state)));
}

Status CheckCancel(const Trial& trial) {
  if (trial.state != TrialState::succeeded && trial.state != TrialState::failed) return {};
  return Refused(fmt::format("{} has {}: only what has not ended can be cancelled", FormatTrial(trial),
                             GetStateName(trial.state)));
}

bool IsAsked(Amendment amendment, TrialState state) {
  return amendment == Amendment::retry ? !EndedBadly(state) : state == TrialState::cancelled;
}

}  // namespace

Status CheckAmendment(const Core& core, Amendment amendment, const std::vector<TrialId>& trials) {
  const std::set<TrialId> asked(trials.begin(), trials.end());
  for (const TrialId id : trials) {
    const Trial& trial = core.Get(id);
    if (!trial.spec.draw.empty())
      return Refused(fmt::format(
          "{} is part of a private selection, which is charged as a whole: whatever is tried again has other "
          "noise, and would be another selection, in a folder of its own (--results)",
          FormatTrial(trial)));
    RETORT_RETURN_IF_ERROR(amendment == Amendment::retry ? CheckRetry(core, trial, asked) : CheckCancel(trial));
  }
  return {};
}

Result<std::vector<TrialId>> Amend(Core& core, Amendment amendment, const std::vector<TrialId>& trials, Now now,
                                   Outbox& outbox) {
  RETORT_RETURN_IF_ERROR(CheckAmendment(core, amendment, trials));
  const std::set<TrialId> asked(trials.begin(), trials.end());
  std::vector<TrialState> before;
  for (const std::size_t index : core.plan()) before.push_back(core.At(index).state);
  // Teachers come first in the plan: a student that was reopened with its teacher needs no event of its own.
  for (const std::size_t index : core.plan()) {
    const Trial& trial = core.At(index);
    if (!asked.contains(trial.spec.id) || IsAsked(amendment, trial.state)) continue;
    if (amendment == Amendment::retry)
      Record(core, TrialReopened{trial.spec.id}, now, outbox);
    else
      Record(core, TrialCancelled{trial.spec.id}, now, outbox);
  }
  WriteMissingRows(core, now, outbox);
  std::vector<TrialId> changed;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Trial& trial = core.At(core.plan()[i]);
    if (trial.state != before[i]) changed.push_back(trial.spec.id);
  }
  return changed;
}

std::vector<TrialId> ListFailedTrials(const Core& core) {
  std::vector<TrialId> failed;
  for (const std::size_t index : core.plan())
    if (core.At(index).state == TrialState::failed) failed.push_back(core.At(index).spec.id);
  return failed;
}

std::vector<TrialId> ListFailedByDisk(const Core& core) {
  std::vector<TrialId> failed = ListFailedTrials(core);
  std::erase_if(failed, [&core](TrialId id) { return core.Get(id).failure != FailureKind::disk; });
  return failed;
}

namespace {

void Reply(Outbox& outbox, const std::string& name, AnswerKind kind, std::string text,
           std::vector<TrialId> changed = {}) {
  outbox.answers.push_back({name, {kind, std::move(text), std::move(changed)}});
}

bool IsBeingCancelled(const Core& core, TrialId trial) {
  return std::any_of(core.cancels.begin(), core.cancels.end(), [trial](const OpenCancel& open) {
    return std::find(open.saving.begin(), open.saving.end(), trial) != open.saving.end();
  });
}

void Append(std::vector<TrialId>& all, const std::vector<TrialId>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void AddSentence(std::string& text, const std::string& sentence) { text += (text.empty() ? "" : "; ") + sentence; }

// Returns the trials that the request is about, without those that were tried again since, which `text` then names.
Result<std::vector<TrialId>> SelectTrials(const Core& core, const AmendRequest& request, std::string& text) {
  if (request.sweep != core.sweep())
    return Refused(fmt::format("the request is for sweep '{}', and this is '{}'", request.sweep, core.sweep()));
  std::vector<TrialId> trials;
  for (const RequestedTrial& asked : request.trials) {
    const Trial* trial = core.Find(asked.trial);
    if (trial == nullptr || !trial->planned)
      return Refused("trial " + asked.trial.Hex() + " is not in the sweep: it was edited meanwhile");
    if (request.amendment == Amendment::retry && IsBeingCancelled(core, asked.trial))
      return Refused(trial->spec.name + " is saving its state to be cancelled: retry it when it is");
    if (request.amendment == Amendment::retry && trial->attempts != asked.attempts)
      AddSentence(text, trial->spec.name + " was tried again since this was asked");
    else
      trials.push_back(asked.trial);
  }
  return trials;
}

void SendStop(const ActiveAttempt& attempt, double grace_seconds, Outbox& outbox) {
  for (const WorldRank rank : attempt.ranks())
    Send(outbox, rank, cluster::Stop{true, grace_seconds}, attempt.id, attempt.generation);
}

// Cancels a trial whose attempt has ended, unless it has succeeded or failed for good.
void Cancel(Core& core, TrialId id, OpenCancel& open, Now now, Outbox& outbox) {
  const Result<std::vector<TrialId>> changed = Amend(core, Amendment::cancel, {id}, now, outbox);
  if (changed.ok())
    Append(open.changed, *changed);
  else
    AddSentence(open.text, changed.status().message());
}

void CancelTrials(Core& core, const std::string& name, const std::vector<TrialId>& trials, std::string text,
                  double grace_seconds, Now now, Outbox& outbox) {
  OpenCancel open{name, {}, {}, std::move(text)};
  std::vector<TrialId> idle;
  for (const TrialId id : trials) {
    const ActiveAttempt* attempt = core.fleet.Find(id);
    if (attempt == nullptr) {
      idle.push_back(id);
      continue;
    }
    if (!IsBeingCancelled(core, id)) SendStop(*attempt, grace_seconds, outbox);
    open.saving.push_back(id);
  }
  const Result<std::vector<TrialId>> changed = Amend(core, Amendment::cancel, idle, now, outbox);
  if (!changed.ok()) {
    Reply(outbox, name, AnswerKind::refused, changed.status().message());
    return;
  }
  Append(open.changed, *changed);
  const bool saving = !open.saving.empty();
  Reply(outbox, name, saving ? AnswerKind::saving : AnswerKind::done, open.text, open.changed);
  if (saving) core.cancels.push_back(std::move(open));
}

}  // namespace

void OnAmendRequest(Core& core, const std::string& name, const AmendRequest& request, double grace_seconds, Now now,
                    Outbox& outbox) {
  std::string text;
  const Result<std::vector<TrialId>> trials = SelectTrials(core, request, text);
  const Status status = trials.ok() ? CheckAmendment(core, request.amendment, *trials) : trials.status();
  if (!status.ok()) {
    Reply(outbox, name, AnswerKind::refused, status.message());
  } else if (request.amendment == Amendment::cancel) {
    CancelTrials(core, name, *trials, std::move(text), grace_seconds, now, outbox);
  } else {
    const Result<std::vector<TrialId>> changed = Amend(core, Amendment::retry, *trials, now, outbox);
    RETORT_CHECK(changed.ok());
    Reply(outbox, name, AnswerKind::done, std::move(text), *changed);
  }
}

void FinishCancels(Core& core, Now now, Outbox& outbox) {
  for (OpenCancel& open : core.cancels) {
    std::vector<TrialId> saving;
    for (const TrialId id : open.saving) {
      if (core.fleet.Find(id) != nullptr)
        saving.push_back(id);
      else
        Cancel(core, id, open, now, outbox);
    }
    open.saving = std::move(saving);
    if (open.saving.empty()) Reply(outbox, open.request, AnswerKind::done, open.text, open.changed);
  }
  std::erase_if(core.cancels, [](const OpenCancel& open) { return open.saving.empty(); });
}

}  // namespace retort::orchestrator
