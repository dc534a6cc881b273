#include "orchestrator/reactor/search_rounds.h"

#include <algorithm>
#include <optional>

#include "orchestrator/reactor/reactor.h"
#include "orchestrator/reactor/scheduler.h"

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
  history.room = core.AllFinal() && core.missing_rows().empty() ? 1 : 0;
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

namespace {

// How many slots the trials of one suggestion take at once: of the newest one.
std::size_t CountSlotsEach(const Core& core) {
  std::size_t newest = 0, slots = 0;
  for (const std::size_t index : core.plan()) {
    const TrialSpec& spec = core.At(index).spec;
    const std::size_t suggestion = FindSuggestion(spec).value_or(0);
    if (spec.role == Role::teacher || suggestion < newest) continue;
    slots = (suggestion == newest ? slots : 0) + static_cast<std::size_t>(spec.devices);
    newest = suggestion;
  }
  return std::max<std::size_t>(slots, 1);
}

// How many suggestions may be added now: for free slots, and one where all have ended, which tells whether this was
// all.
std::size_t CountRoom(Core& core, Now now) {
  if (core.exhausted && *core.exhausted != core.CountFinal()) core.exhausted.reset();
  if (core.AllFinal()) return std::max<std::size_t>(CountIdleSlots(core, now) / CountSlotsEach(core), 1);
  if (!core.fills_slots || core.exhausted) return 0;
  const std::size_t idle = CountIdleSlots(core, now);
  return idle == 0 ? 0 : std::max<std::size_t>(idle / CountSlotsEach(core), 1);
}

// Adds what the search suggests now. Value: trials that were added.
Result<std::size_t> Extend(Core& core, const PlanSearch& plan, std::size_t room, Now now, Outbox& outbox) {
  RETORT_ASSIGN_OR_RETURN(SearchHistory history, CollectHistory(core));
  if (core.fills_slots) history.room = room;
  RETORT_ASSIGN_OR_RETURN(const SweepPlan next, plan(history));
  const std::size_t before = core.plan().size();
  if (next.trials.size() > before)
    RETORT_RETURN_IF_ERROR(ExtendSweep(core, next, now, outbox));
  else if (core.AllFinal())
    core.more_may_come = false;
  else
    core.exhausted = core.CountFinal();
  OnTick(core, now, outbox);
  return core.plan().size() - before;
}

}  // namespace

Result<std::size_t> ContinueSearch(Core& core, const PlanSearch& plan, Now now, Outbox& outbox) {
  std::size_t added = 0;
  while (core.more_may_come && !core.ended && core.missing_rows().empty()) {
    const std::size_t room = CountRoom(core, now);
    if (room == 0) break;
    RETORT_ASSIGN_OR_RETURN(const std::size_t more, Extend(core, plan, room, now, outbox));
    added += more;
    if (more == 0 || !core.fills_slots) break;
  }
  return added;
}

}  // namespace retort::orchestrator
