#include "orchestrator/reactor/search_rounds.h"

#include <optional>

#include "orchestrator/reactor/reactor.h"

namespace retort::orchestrator {

void NoteOutcome(const TrialSpec& spec, bool planned, bool ended, const storage::ResultRow* row,
                 SearchHistory& history) {
  if (planned)
    if (const std::optional<std::size_t> suggestion = FindSuggestion(spec)) history.planned.emplace(*suggestion, spec);
  SearchOutcome& outcome = history.outcomes[spec.id];
  outcome.ended = ended && row != nullptr;
  if (row == nullptr || row->state != StateName(TrialState::succeeded)) return;
  for (const auto& [name, value] : row->metrics)
    if (name == spec.score) outcome.score = value;
}

Result<SearchHistory> CollectHistory(const Core& core) {
  SearchHistory history;
  history.identity = IdentifySearchIn(core.resolved_toml());
  for (std::size_t index = 0; index < core.known(); ++index) {
    const Trial& trial = core.At(index);
    if (trial.spec.score.empty()) continue;
    std::optional<storage::ResultRow> row;
    if (trial.row) {
      RETORT_ASSIGN_OR_RETURN(row, trial.row.Read(StateName(trial.state)));
    }
    NoteOutcome(trial.spec, trial.planned, IsFinal(trial.state), row ? &*row : nullptr, history);
  }
  return history;
}

Result<std::size_t> ContinueSearch(Core& core, const PlanSearch& plan, Now now, Outbox& outbox) {
  if (!core.more_may_come || core.ended || !core.AllFinal() || !core.missing_rows().empty()) return std::size_t{0};
  RETORT_ASSIGN_OR_RETURN(const SearchHistory history, CollectHistory(core));
  RETORT_ASSIGN_OR_RETURN(const SweepPlan next, plan(history));
  const std::size_t before = core.plan().size();
  if (next.trials.size() > before)
    RETORT_RETURN_IF_ERROR(ExtendSweep(core, next, now, outbox));
  else
    core.more_may_come = false;
  OnTick(core, now, outbox);
  return core.plan().size() - before;
}

}  // namespace retort::orchestrator
