#include "orchestrator/amend_results.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "orchestrator/commit.h"
#include "orchestrator/folder_lock.h"
#include "orchestrator/live_amendment.h"
#include "orchestrator/provenance.h"
#include "orchestrator/publication.h"
#include "orchestrator/reactor.h"
#include "orchestrator/recovery.h"
#include "orchestrator/request_inbox.h"

namespace retort::orchestrator {
namespace {

// The sweep is complete, or it is not any more.
Status PublishEnd(storage::Env& env, const Recovered& recovered) {
  const Core& core = recovered.core;
  RETORT_RETURN_IF_ERROR(PublishResults(env, core, recovered.ledger->entries()));
  if (!core.AllFinal()) return {};
  return PublishExitCode(env, core.settings().results, SweepExitCode(core));
}

std::string LeftText(const Result<AmendRequest>& request, const AmendAnswer& answer) {
  const std::string what =
      !request.ok()
          ? "a request"
          : fmt::format("a request to {} {} trial(s)",
                        request->amendment == Amendment::cancel ? "cancel" : "retry", request->trials.size());
  if (answer.kind == AnswerKind::refused) return what + " was left here and is refused: " + answer.text;
  return fmt::format("{} was left here: done, {} changed{}", what, answer.changed.size(),
                     answer.text.empty() ? "" : "; " + answer.text);
}

// Nothing runs, so that every answer is final.
Result<std::string> ApplyLeft(const ReceivedRequest& left, RequestInbox& inbox, Recovered& recovered,
                              Now now) {
  Outbox outbox;
  if (left.request.ok())
    OnAmendRequest(recovered.core, left.name, *left.request, 0, now, outbox);
  else
    outbox.answers.push_back({left.name, {AnswerKind::refused, left.request.status().message(), {}}});
  RETORT_RETURN_IF_ERROR(CommitOutbox(recovered, outbox));
  const AddressedAnswer& answer = outbox.answers.front();
  const Status answered = inbox.Answer(answer);
  return LeftText(left.request, answer.answer) + (answered.ok() ? "" : "; " + answered.message());
}

}  // namespace

Result<std::vector<std::string>> ApplyLeftRequests(storage::Env& env, Recovered& recovered, Now now) {
  RETORT_CHECK(recovered.core.fleet.active().empty());
  std::vector<std::string> sentences;
  RequestInbox inbox(env, recovered.core.settings().results);
  for (Now look = now;; look.monotonic += RequestInbox::kLookSeconds) {
    const std::vector<ReceivedRequest> found = inbox.Look(look);
    if (found.empty()) return sentences;
    for (const ReceivedRequest& left : found) {
      RETORT_ASSIGN_OR_RETURN(std::string sentence, ApplyLeft(left, inbox, recovered, now));
      sentences.push_back(std::move(sentence));
    }
  }
}

Result<std::vector<TrialId>> AmendResults(storage::Env& env, const RunOptions& options,
                                          const AmendmentOrder& order, Now now) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::FileLock> lock, LockFolder(env, options.results));
  return AmendHeldResults(env, options, order, now);
}

Result<std::vector<TrialId>> AmendHeldResults(storage::Env& env, const RunOptions& options,
                                              const AmendmentOrder& order, Now now) {
  Settings settings;
  settings.results = options.results;
  settings.provenance_json = ProvenanceJson(options, 1);
  RETORT_ASSIGN_OR_RETURN(Recovered recovered, RecoverResults(env, settings));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> left, ApplyLeftRequests(env, recovered, now));
  const std::vector<TrialId> trials = order.every_failed ? FailedTrials(recovered.core) : order.trials;
  for (const TrialId id : trials)
    if (recovered.core.Find(id) == nullptr)
      return Refused("the sweep changed meanwhile: trial " + id.Hex() + " is gone");
  Outbox outbox;
  RETORT_ASSIGN_OR_RETURN(std::vector<TrialId> changed,
                          Amend(recovered.core, order.amendment, trials, now, outbox));
  if (outbox.empty() && left.empty()) return changed;
  RETORT_RETURN_IF_ERROR(env.Remove(ExitCodePath(options.results)));
  RETORT_RETURN_IF_ERROR(CommitOutbox(recovered, outbox));
  RETORT_RETURN_IF_ERROR(PublishEnd(env, recovered));
  return changed;
}

}  // namespace retort::orchestrator
