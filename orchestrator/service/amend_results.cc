#include "orchestrator/service/amend_results.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "experiments/sweep/search_spec.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/journal/request_inbox.h"
#include "orchestrator/reactor/amendment.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/service/publication.h"
#include "orchestrator/service/run_options.h"

namespace retort::orchestrator {
namespace {

// Publishes the results, and the exit code where the sweep is complete. Whether asha decides more only a run knows.
Status PublishEnd(storage::Env& env, const Recovered& recovered) {
  const Core& core = recovered.core;
  RETORT_RETURN_IF_ERROR(PublishResults(env, core, recovered.ledger->entries()));
  const std::optional<SearchTerms> search = ReadSearchTerms(core.resolved_toml());
  if (!core.AllFinal() || (search && search->IsAsynchronous())) return {};
  return PublishExitCode(env, core.settings().results, ChooseSweepExitCode(core));
}

std::string DescribePendingRequest(const Result<AmendRequest>& request, const AmendAnswer& answer) {
  const std::string what =
      !request.ok() ? "a request"
                    : fmt::format("a request to {} {} trial(s)",
                                  request->amendment == Amendment::cancel ? "cancel" : "retry", request->trials.size());
  if (answer.kind == AnswerKind::refused) return what + " was left here and is refused: " + answer.text;
  return fmt::format("{} was left here: done, {} changed{}", what, answer.changed.size(),
                     answer.text.empty() ? "" : "; " + answer.text);
}

// Applies one request. Nothing runs, so the answer is final.
Result<std::string> ApplyPendingRequest(const ReceivedRequest& left, RequestInbox& inbox, Recovered& recovered,
                                        Now now) {
  Outbox outbox;
  if (left.request.ok())
    OnAmendRequest(recovered.core, left.name, *left.request, 0, now, outbox);
  else
    outbox.answers.push_back({left.name, {AnswerKind::refused, left.request.status().message(), {}}});
  RETORT_RETURN_IF_ERROR(CommitOutbox(recovered, outbox));
  const AddressedAnswer& answer = outbox.answers.front();
  const Status answered = inbox.Answer(answer);
  return DescribePendingRequest(left.request, answer.answer) + (answered.ok() ? "" : "; " + answered.message());
}

}  // namespace

Result<std::vector<std::string>> ApplyPendingRequests(storage::Env& env, Recovered& recovered, Now now) {
  RETORT_CHECK(recovered.core.fleet.active().empty());
  std::vector<std::string> sentences;
  RequestInbox inbox(env, recovered.core.settings().results);
  for (Now look = now;; look.monotonic += RequestInbox::kLookSeconds) {
    const std::vector<ReceivedRequest> found = inbox.Look(look);
    if (found.empty()) return sentences;
    for (const ReceivedRequest& left : found) {
      RETORT_ASSIGN_OR_RETURN(std::string sentence, ApplyPendingRequest(left, inbox, recovered, now));
      sentences.push_back(std::move(sentence));
    }
  }
}

Result<std::vector<TrialId>> AmendResults(storage::Env& env, const RunOptions& options, const AmendmentOrder& order,
                                          Now now) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::FileLock> lock, LockFolder(env, options.results));
  return AmendHeldResults(env, options, order, now);
}

Result<std::vector<TrialId>> AmendHeldResults(storage::Env& env, const RunOptions& options, const AmendmentOrder& order,
                                              Now now) {
  Settings settings;
  settings.results = options.results;
  settings.provenance_json = FormatProvenanceJson(options, 1);
  RETORT_ASSIGN_OR_RETURN(Recovered recovered, RecoverResults(env, settings));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> left, ApplyPendingRequests(env, recovered, now));
  const std::vector<TrialId> trials = order.every_failed ? ListFailedTrials(recovered.core) : order.trials;
  for (const TrialId id : trials)
    if (recovered.core.Find(id) == nullptr)
      return Refused("the sweep changed meanwhile: trial " + id.Hex() + " is gone");
  Outbox outbox;
  RETORT_ASSIGN_OR_RETURN(std::vector<TrialId> changed, Amend(recovered.core, order.amendment, trials, now, outbox));
  if (outbox.empty() && left.empty()) return changed;
  RETORT_RETURN_IF_ERROR(env.Remove(GetExitCodePath(options.results)));
  RETORT_RETURN_IF_ERROR(CommitOutbox(recovered, outbox));
  RETORT_RETURN_IF_ERROR(PublishEnd(env, recovered));
  return changed;
}

namespace {

using Outcome = AmendmentReport::Outcome;

constexpr int kLooksPerLock = 5;  // the lock is tried now and then: a starting run needs it, too

Result<AmendmentReport> MakeReport(const AmendAnswer& answer) {
  if (answer.kind == AnswerKind::refused) return Refused(answer.text);
  return AmendmentReport{answer.kind == AnswerKind::saving ? Outcome::saving : Outcome::done, answer.changed,
                         answer.text};
}

AmendmentOrder MakeOrder(const AmendRequest& request) {
  AmendmentOrder order;
  order.amendment = request.amendment;
  for (const RequestedTrial& asked : request.trials) order.trials.push_back(asked.trial);
  return order;
}

// Handles a request whose run is over. REQUIRES: the caller holds the folder's lock.
Result<AmendmentReport> AfterRun(storage::Env& env, const RunOptions& options, const AmendRequest& request,
                                 const std::string& name, Now now) {
  const std::optional<AmendAnswer> answer = FetchAnswer(env, options.results, name);
  if (answer && answer->kind != AnswerKind::saving) return MakeReport(*answer);
  if (!IsRequestWaiting(env, options.results, name))
    return AmendmentReport{Outcome::done, {}, "the run took the request, and ended before it answered"};
  RETORT_RETURN_IF_ERROR(WithdrawRequest(env, options.results, name));
  RETORT_ASSIGN_OR_RETURN(std::vector<TrialId> changed, AmendHeldResults(env, options, MakeOrder(request), now));
  return AmendmentReport{Outcome::done, std::move(changed), ""};
}

}  // namespace

Result<AmendmentReport> RequestAmendment(storage::Env& env, const RunOptions& options, const AmendRequest& request,
                                         const std::string& name, const AnswerWait& patience,
                                         const std::function<Now()>& clock) {
  RETORT_RETURN_IF_ERROR(SubmitRequest(env, options.results, name, request));
  AmendmentReport report{Outcome::queued, {}, ""};
  for (int look = 1; look <= patience.looks; ++look) {
    patience.pause();
    if (const std::optional<AmendAnswer> answer = FetchAnswer(env, options.results, name)) {
      if (answer->kind != AnswerKind::saving) return MakeReport(*answer);
      RETORT_ASSIGN_OR_RETURN(report, MakeReport(*answer));
    }
    if (look % kLooksPerLock != 0) continue;
    const Result<std::unique_ptr<storage::FileLock>> lock = env.Lock(LockPath(options.results));
    if (lock.ok()) return AfterRun(env, options, request, name, clock());
  }
  return report;
}

}  // namespace retort::orchestrator
