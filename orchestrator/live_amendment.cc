#include "orchestrator/live_amendment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orchestrator/amendment.h"
#include "orchestrator/decision.h"

namespace retort::orchestrator {
namespace {

void Reply(Outbox& outbox, const std::string& name, AnswerKind kind, std::string text,
           std::vector<TrialId> changed = {}) {
  outbox.answers.push_back({name, {kind, std::move(text), std::move(changed)}});
}

bool IsLeaving(const Core& core, TrialId trial) {
  return std::any_of(core.cancels.begin(), core.cancels.end(), [trial](const OpenCancel& open) {
    return std::find(open.saving.begin(), open.saving.end(), trial) != open.saving.end();
  });
}

void Append(std::vector<TrialId>& all, const std::vector<TrialId>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void AddSentence(std::string& text, const std::string& sentence) {
  text += (text.empty() ? "" : "; ") + sentence;
}

// Trials of the request that are to be looked at; those that were tried again since are left out, with a
// word.
Result<std::vector<TrialId>> TrialsOf(const Core& core, const AmendRequest& request, std::string& text) {
  if (request.sweep != core.sweep())
    return Refused(
        fmt::format("the request is for sweep '{}', and this is '{}'", request.sweep, core.sweep()));
  std::vector<TrialId> trials;
  for (const AskedTrial& asked : request.trials) {
    const Trial* trial = core.Find(asked.trial);
    if (trial == nullptr || !trial->planned)
      return Refused("trial " + asked.trial.Hex() + " is not in the sweep: it was edited meanwhile");
    if (request.amendment == Amendment::retry && IsLeaving(core, asked.trial))
      return Refused(trial->spec.name + " is saving its state to be cancelled: retry it when it is");
    if (request.amendment == Amendment::retry && trial->attempts != asked.attempts)
      AddSentence(text, trial->spec.name + " was tried again since this was asked");
    else
      trials.push_back(asked.trial);
  }
  return trials;
}

void TellToStop(const ActiveAttempt& attempt, double grace_seconds, Outbox& outbox) {
  for (const WorldRank rank : attempt.ranks())
    Send(outbox, rank, cluster::Stop{true, grace_seconds}, attempt.id, attempt.generation);
}

// The attempt of the trial has ended: its trial follows, unless it has succeeded or failed for good.
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
    if (!IsLeaving(core, id)) TellToStop(*attempt, grace_seconds, outbox);
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

void OnAmendRequest(Core& core, const std::string& name, const AmendRequest& request, double grace_seconds,
                    Now now, Outbox& outbox) {
  std::string text;
  const Result<std::vector<TrialId>> trials = TrialsOf(core, request, text);
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
