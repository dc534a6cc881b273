#include "orchestrator/live_spending.h"

#include <algorithm>

#include "orchestrator/row.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator {

SpendingFacts SpendingFactsOf(const Core& core) {
  SpendingFacts facts;
  for (std::size_t index = 0; index < core.known(); ++index) {
    const Trial& trial = core.At(index);
    facts.trials.push_back({&trial.spec, trial.planned, core.AuditVoidOf(trial.spec.id)});
  }
  facts.results = core.settings().results;
  facts.charges = &core.charges;
  facts.counts = CountsOf(core);
  facts.ledger_lost = core.ledger_lost;
  for (const auto& [digest, events] : core.charged_elsewhere) facts.elsewhere[digest] = {events};
  for (const auto& [digest, sweeps] : core.charged_beside) facts.elsewhere[digest] = sweeps;
  facts.other_budgets = core.other_budgets;
  facts.root = core.root;
  facts.root_trouble = core.root_trouble;
  return facts;
}

const std::vector<DataSpending>& LiveSpending::Of(const Core& core, Now now) {
  const bool same = version_ == core.charges.version() && audit_voids_ == core.audit_voids;
  if (same || now.monotonic < next_) return newest_;
  const double began = ReadClocks().monotonic;
  version_ = core.charges.version();
  audit_voids_ = core.audit_voids;
  newest_ = SpendingOf(SpendingFactsOf(core));
  next_ = now.monotonic + std::max(kPauseSeconds, kPauseFactor * (ReadClocks().monotonic - began));
  return newest_;
}

}  // namespace retort::orchestrator
