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
  if (row == nullptr || row->state != GetStateName(TrialState::succeeded)) return;
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
      RETORT_ASSIGN_OR_RETURN(row, trial.row.Read(GetStateName(trial.state)));
    }
    NoteOutcome(trial.spec, trial.planned, IsFinal(trial.state), row ? &*row : nullptr, history);
  }
  return history;
}

namespace {

// How many slots the trials of one suggestion take at once, and the smallest of them: of the newest suggestion.
struct SlotsEach {
  std::size_t all = 1, one = 1;
};

SlotsEach CountSlotsEach(const Core& core) {
  SlotsEach slots;
  std::optional<std::size_t> newest;
  for (const std::size_t index : core.plan()) {
    const TrialSpec& spec = core.At(index).spec;
    const std::size_t suggestion = FindSuggestion(spec).value_or(0);
    if (spec.role == Role::teacher || suggestion < newest) continue;
    const std::size_t devices = static_cast<std::size_t>(std::max(spec.devices, 1));
    const bool first = suggestion != newest;
    slots = first ? SlotsEach{devices, devices} : SlotsEach{slots.all + devices, std::min(slots.one, devices)};
    newest = suggestion;
  }
  return slots;
}

// How many suggestions may be added now: for free slots, and one where all have ended, which tells whether this was
// all. While something runs, slots that are too few for any trial of a suggestion wait for more.
std::size_t CountRoom(const Core& core, Now now) {
  const SlotsEach each = CountSlotsEach(core);
  if (core.AllFinal()) return std::max<std::size_t>(CountIdleSlots(core, now) / each.all, 1);
  if (!core.fills_slots || core.exhausted) return 0;
  const std::size_t idle = CountIdleSlots(core, now);
  if (idle == 0 || (idle < each.one && !core.fleet.active().empty())) return 0;
  return std::max<std::size_t>(idle / each.all, 1);
}

// Plans what is suggested now, and adds it.
Status PlanNext(Core& core, const PlanSearch& plan, std::size_t room, Now now, Outbox& outbox) {
  RETORT_ASSIGN_OR_RETURN(SearchHistory history, CollectHistory(core));
  if (core.fills_slots) history.room = room;
  RETORT_ASSIGN_OR_RETURN(const SweepPlan next, plan(history));
  return ExtendSweep(core, next, now, outbox);
}

// Adds what the search suggests now. Value: trials that were added. An error waits until all that runs has ended, whose
// work it would lose; until then it is in `search_trouble`.
Result<std::size_t> Extend(Core& core, const PlanSearch& plan, std::size_t room, Now now, Outbox& outbox) {
  const std::size_t before = core.plan().size();
  const Status planned = PlanNext(core, plan, room, now, outbox);
  if (!planned.ok() && (core.AllFinal() || core.fleet.active().empty())) return planned;
  if (!planned.ok()) core.search_trouble = planned.message();
  const std::size_t added = core.plan().size() - before;
  if (added == 0 && core.AllFinal())
    core.more_may_come = false;
  else if (added == 0)
    core.exhausted = true;
  OnTick(core, now, outbox);
  return added;
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
