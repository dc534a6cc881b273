#include "orchestrator/amend_results.h"

#include <memory>
#include <utility>

#include "orchestrator/commit.h"
#include "orchestrator/folder_lock.h"
#include "orchestrator/provenance.h"
#include "orchestrator/publication.h"
#include "orchestrator/reactor.h"
#include "orchestrator/recovery.h"

namespace retort::orchestrator {
namespace {

// The sweep is complete, or it is not any more.
Status PublishEnd(storage::Env& env, const Recovered& recovered) {
  const Core& core = recovered.core;
  RETORT_RETURN_IF_ERROR(PublishResults(env, core, recovered.ledger->entries()));
  if (!core.AllFinal()) return {};
  return PublishExitCode(env, core.settings().results, SweepExitCode(core));
}

}  // namespace

Result<std::vector<TrialId>> AmendResults(storage::Env& env, const RunOptions& options,
                                          const AmendmentOrder& order, Now now) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::FileLock> lock, LockFolder(env, options.results));
  Settings settings;
  settings.results = options.results;
  settings.provenance_json = ProvenanceJson(options, 1);
  RETORT_ASSIGN_OR_RETURN(Recovered recovered, RecoverResults(env, settings));
  const std::vector<TrialId> trials = order.every_failed ? FailedTrials(recovered.core) : order.trials;
  for (const TrialId id : trials)
    if (recovered.core.Find(id) == nullptr)
      return Refused("the sweep changed meanwhile: trial " + id.Hex() + " is gone");
  Outbox outbox;
  RETORT_ASSIGN_OR_RETURN(std::vector<TrialId> changed,
                          Amend(recovered.core, order.amendment, trials, now, outbox));
  if (outbox.empty()) return changed;
  RETORT_RETURN_IF_ERROR(env.Remove(ExitCodePath(options.results)));
  RETORT_RETURN_IF_ERROR(CommitOutbox(recovered, outbox));
  RETORT_RETURN_IF_ERROR(PublishEnd(env, recovered));
  return changed;
}

}  // namespace retort::orchestrator
