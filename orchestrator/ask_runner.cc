#include "orchestrator/ask_runner.h"

#include <memory>
#include <optional>
#include <utility>

#include "orchestrator/journal.h"
#include "orchestrator/request_inbox.h"

namespace retort::orchestrator {
namespace {

using Outcome = AmendmentReport::Outcome;

constexpr int kLooksPerLock = 5;  // the lock is tried now and then: a starting run needs it, too

Result<AmendmentReport> ReportOf(const AmendAnswer& answer) {
  if (answer.kind == AnswerKind::refused) return Refused(answer.text);
  return AmendmentReport{answer.kind == AnswerKind::saving ? Outcome::saving : Outcome::done, answer.changed,
                         answer.text};
}

AmendmentOrder OrderOf(const AmendRequest& request) {
  AmendmentOrder order;
  order.amendment = request.amendment;
  for (const AskedTrial& asked : request.trials) order.trials.push_back(asked.trial);
  return order;
}

// The run is over; whoever holds the lock alone touches requests.
Result<AmendmentReport> AfterRun(storage::Env& env, const RunOptions& options, const AmendRequest& request,
                                 const std::string& name, Now now) {
  const std::optional<AmendAnswer> answer = FetchAnswer(env, options.results, name);
  if (answer && answer->kind != AnswerKind::saving) return ReportOf(*answer);
  if (!RequestIsWaiting(env, options.results, name))
    return AmendmentReport{Outcome::done, {}, "the run took the request, and ended before it answered"};
  RETORT_RETURN_IF_ERROR(WithdrawRequest(env, options.results, name));
  RETORT_ASSIGN_OR_RETURN(std::vector<TrialId> changed,
                          AmendHeldResults(env, options, OrderOf(request), now));
  return AmendmentReport{Outcome::done, std::move(changed), ""};
}

}  // namespace

Result<AmendmentReport> AskRunner(storage::Env& env, const RunOptions& options, const AmendRequest& request,
                                  const std::string& name, const Patience& patience,
                                  const std::function<Now()>& clock) {
  RETORT_RETURN_IF_ERROR(SubmitRequest(env, options.results, name, request));
  AmendmentReport report{Outcome::queued, {}, ""};
  for (int look = 1; look <= patience.looks; ++look) {
    patience.pause();
    if (const std::optional<AmendAnswer> answer = FetchAnswer(env, options.results, name)) {
      if (answer->kind != AnswerKind::saving) return ReportOf(*answer);
      RETORT_ASSIGN_OR_RETURN(report, ReportOf(*answer));
    }
    if (look % kLooksPerLock != 0) continue;
    const Result<std::unique_ptr<storage::FileLock>> lock = env.Lock(LockPath(options.results));
    if (lock.ok()) return AfterRun(env, options, request, name, clock());
  }
  return report;
}

}  // namespace retort::orchestrator
