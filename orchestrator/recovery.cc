#include "orchestrator/recovery.h"

#include <utility>

namespace retort::orchestrator {

Result<Recovered> RecoverResults(storage::Env& env, const Settings& settings) {
  Core core(settings);
  RETORT_ASSIGN_OR_RETURN(Journal journal, Journal::Open(env, settings.results, core));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<storage::PrivacyLedger> ledger,
                          storage::PrivacyLedger::Open(env, LedgerPath(settings.results)));
  core.charges.Load(ledger->entries());
  return Recovered{std::move(core), std::move(journal), std::move(ledger)};
}

}  // namespace retort::orchestrator
