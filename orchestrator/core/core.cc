#include "orchestrator/core/core.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "experiments/methods/spec_codec.h"

namespace retort::orchestrator {
namespace {

bool IsActive(TrialState state) { return state == TrialState::leased || state == TrialState::running; }

Status Illegal(const Trial& trial, const std::string& what) {
  return DamageError("journal: trial " + trial.spec.id.Hex() + " is " + std::string(GetStateName(trial.state)) + ", " +
                     what);
}

}  // namespace

Status Core::Apply(const JournalEvent& event) {
  const std::size_t finals = CountIn(TrialState::succeeded) + CountIn(TrialState::failed);
  newest_event_ = event.at;
  RETORT_RETURN_IF_ERROR(std::visit([this](const auto& alternative) { return this->On(alternative); }, event.event));
  usage_.On(event);
  inventory_.On(event);
  if (CountIn(TrialState::succeeded) + CountIn(TrialState::failed) > finals &&
      std::holds_alternative<AttemptEnded>(event.event)) {
    last_end_ = event.at;
    if (std::get<AttemptEnded>(event.event).succeeded) last_success_ = event.at;
  }
  return {};
}

Status Core::On(const SweepOpened& event) {
  if (event.format_version < 1 || event.format_version > kResultsFormatVersion)
    return UsageError("the results folder has format " + std::to_string(event.format_version) +
                      ", this retort reads formats up to " + std::to_string(kResultsFormatVersion) +
                      ": use the retort that wrote it, or another folder (--results)");
  if (event.name.empty()) return DamageError("journal: a sweep without a name");
  sweep_ = event.name;
  resolved_toml_ = event.resolved_toml;
  format_version_ = event.format_version;
  run_provenance_ = event.provenance_json;
  return {};
}

Status Core::On(const TrialPlanned& event) {
  if (const auto known = by_id_.find(event.spec.id); known != by_id_.end()) {
    Trial& trial = trials_[known->second];
    if (IsActive(trial.state)) return Illegal(trial, "and cannot be planned anew");
    RemoveFromIndices(trial, known->second);
    trial.spec = event.spec;
    trial.spec_text.reset();
    trial.spec_hash = std::hash<std::string>()(event.spec_json);
    AddToIndices(trial, known->second);
    return {};
  }
  Trial trial;
  trial.spec = event.spec;
  trial.spec_hash = std::hash<std::string>()(event.spec_json);
  trial.state = event.spec.parent ? TrialState::waiting : TrialState::queued;
  const std::size_t index = trials_.size();
  if (event.spec.parent) {
    RETORT_ASSIGN_OR_RETURN(const std::size_t parent, FindIndex(*event.spec.parent));
    trials_[parent].children.push_back(index);
  }
  by_id_[event.spec.id] = index;
  trials_.push_back(std::move(trial));
  return UpdateFromParent(index);
}

Status Core::On(const PlanAdopted& event) {
  for (const std::size_t index : plan_) {
    RemoveFromIndices(trials_[index], index);
    trials_[index].planned = false;
  }
  plan_.clear();
  for (const TrialId id : event.order) {
    RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(id));
    if (trials_[index].planned) return DamageError("journal: trial " + id.Hex() + " is planned twice");
    trials_[index].planned = true;
    trials_[index].position = plan_.size();
    plan_.push_back(index);
    AddToIndices(trials_[index], index);
  }
  return {};
}

Status Core::On(const RunStarted& event) {
  run_provenance_ = event.provenance_json;
  for (std::size_t index = 0; index < trials_.size(); ++index) {
    if (IsActive(trials_[index].state)) {
      trials_[index].step = trials_[index].saved_step;
      RETORT_RETURN_IF_ERROR(Move(index, TrialEvent::attempt_failed_retry));
    }
  }
  drained_.clear();
  packed_.clear();
  return {};
}

Status Core::On(const AttemptLeased& event) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(event.attempt.trial));
  Trial& trial = trials_[index];
  if (event.attempt.number <= trial.attempts) return Illegal(trial, "and its attempt numbers must grow");
  if (event.generation.value <= generation_) return Illegal(trial, "and generations must grow");
  RETORT_RETURN_IF_ERROR(Move(index, TrialEvent::lease));
  if (trial.folder.empty()) trial.folder = GetTrialDirectory(trial.spec);
  trial.attempts = event.attempt.number;
  trial.retry_at = 0;
  trial.pace = {};
  if (!event.members.empty()) trial.place = event.members.front();
  generation_ = event.generation.value;
  return {};
}

Status Core::On(const AttemptStarted& event) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(event.attempt));
  return Move(index, TrialEvent::started);
}

Status Core::On(const CheckpointNoted& event) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(event.attempt));
  RETORT_RETURN_IF_ERROR(Move(index, TrialEvent::progress));
  Trial& trial = trials_[index];
  // The trial has advanced, so earlier failures from outside no longer count.
  if (event.step > trial.saved_step)
    std::erase_if(trial.failures, [](const auto& failure) { return IsExternalFailure(failure.first); });
  trial.step = trial.saved_step = event.step;
  return {};
}

Status Core::On(const ProgressNoted& event) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(event.attempt));
  RETORT_RETURN_IF_ERROR(Move(index, TrialEvent::progress));
  Trial& trial = trials_[index];
  trial.step = event.step;
  trial.total_steps = event.total_steps;
  trial.phase = event.phase;
  trial.pace.Note(event.step, newest_event_);
  return {};
}

Status Core::On(const AttemptEnded& event) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(event.attempt));
  Trial& trial = trials_[index];
  trial.failure = event.failure;
  trial.detail = event.detail;
  if (event.succeeded) {
    trial.ended = event;
    return Move(index, TrialEvent::attempt_succeeded);
  }
  trial.step = trial.saved_step;
  ++trial.failures[event.failure];
  trial.retry_at = event.for_good ? 0 : event.retry_at;
  if (event.for_good) trial.ended = event;
  return Move(index, event.for_good ? TrialEvent::attempt_failed_for_good : TrialEvent::attempt_failed_retry);
}

Status Core::On(const RowWritten& event) {
  const std::optional<TrialId> id = TrialId::FromHex(event.row.trial);
  if (!id) return DamageError("journal: a row of no trial: " + event.row.trial);
  const Trial* known = Find(*id);
  if (known != nullptr && IsFinal(known->state) && event.row.state != GetStateName(known->state))
    return Illegal(*known, "and its row says " + event.row.state);
  return Restore(*id, StoredRow(event.row));
}

Status Core::Restore(TrialId id, StoredRow row) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(id));
  Trial& trial = trials_[index];
  if (!IsFinal(trial.state)) return Illegal(trial, "and cannot have a row");
  if (trial.row) return Illegal(trial, "and its row is immutable");
  RemoveFromIndices(trial, index);
  trial.row = std::move(row);
  trial.ended.reset();
  trial.spec_text.reset();
  AddToIndices(trial, index);
  return {};
}

Status Core::On(const TrialCancelled& event) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(event.trial));
  if (trials_[index].state == TrialState::parent_failed) {  // its row says so, and it owes another one
    RemoveFromIndices(trials_[index], index);
    trials_[index].row.reset();
    AddToIndices(trials_[index], index);
  }
  return Move(index, TrialEvent::cancel);
}

Status Core::On(const TrialReopened& event) {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(event.trial));
  return Reopen(index);
}

Status Core::On(const SlotDrained& event) {
  drained_.push_back(event);
  return {};
}

Status Core::On(const SlotRestored& event) {
  std::erase_if(drained_, [&event](const SlotDrained& drained) {
    return drained.rank == event.rank && drained.slot == event.slot;
  });
  return {};
}

Status Core::On(const PackingMeasured& event) {
  packed_.push_back(event);
  return {};
}

Status Core::On(const LedgerNoted& event) {
  if (event.reservations <= ledger_noted_) return DamageError("journal: reservations of the ledger must grow");
  ledger_noted_ = event.reservations;
  return {};
}

Status Core::On(const DataNoted& event) {
  charges.Unpack(event.digest, event.unpacked);
  return {};
}

Status Core::On(const RootNoted& event) {
  if (!noted_root_.empty() && noted_root_ != event.root)
    return DamageError("journal: the results root in which the folder was first run is noted twice");
  noted_root_ = event.root;
  return {};
}

Status Core::Reopen(std::size_t index) {
  RemoveFromIndices(trials_[index], index);
  trials_[index].row.reset();
  trials_[index].ended.reset();
  trials_[index].failures.clear();
  trials_[index].retry_at = 0;
  fleet.quarantine.Forget(trials_[index].spec.id);
  AddToIndices(trials_[index], index);
  RETORT_RETURN_IF_ERROR(Move(index, TrialEvent::reopen));
  for (const std::size_t child : trials_[index].children)
    if (trials_[child].state == TrialState::parent_failed) RETORT_RETURN_IF_ERROR(Reopen(child));
  return UpdateFromParent(index);
}

Status Core::Move(std::size_t index, TrialEvent event) {
  Trial& trial = trials_[index];
  const std::optional<TrialState> next = FindNextState(trial.state, event);
  if (!next) return Illegal(trial, "where event " + std::to_string(static_cast<int>(event)) + " is illegal");
  if (*next == trial.state) return {};
  if (IsFinal(trial.state) || IsFinal(*next)) exhausted = false;
  RemoveFromIndices(trial, index);
  trial.state = *next;
  AddToIndices(trial, index);
  return IsFinal(*next) ? UpdateChildren(index) : Status();
}

Status Core::UpdateFromParent(std::size_t index) {
  const Trial& trial = trials_[index];
  if (trial.state != TrialState::waiting) return {};
  if (!trial.spec.parent) return Move(index, TrialEvent::parent_succeeded);
  const Trial& parent = Get(*trial.spec.parent);
  if (!IsFinal(parent.state)) return {};
  return Move(index,
              parent.state == TrialState::succeeded ? TrialEvent::parent_succeeded : TrialEvent::parent_ended_badly);
}

Status Core::UpdateChildren(std::size_t index) {
  for (const std::size_t child : trials_[index].children) RETORT_RETURN_IF_ERROR(UpdateFromParent(child));
  return {};
}

void Core::AddToIndices(const Trial& trial, std::size_t index) {
  if (!trial.planned) return;
  ++counts_[static_cast<std::size_t>(trial.state)];
  if (trial.state == TrialState::queued) {
    ready_.insert({-trial.spec.execution.priority, trial.position, index});
    if (trial.retry_at > 0) retries_.insert({trial.retry_at, index});
    if (trial.attempts > 0) ++ready_begun_;
  }
  if (IsFinal(trial.state) && !trial.row) missing_rows_.insert({trial.position, index});
}

void Core::RemoveFromIndices(const Trial& trial, std::size_t index) {
  if (!trial.planned) return;
  --counts_[static_cast<std::size_t>(trial.state)];
  if (trial.state == TrialState::queued) {
    ready_.erase({-trial.spec.execution.priority, trial.position, index});
    retries_.erase({trial.retry_at, index});
    if (trial.attempts > 0) --ready_begun_;
  }
  if (IsFinal(trial.state) && !trial.row) missing_rows_.erase({trial.position, index});
}

const Trial* Core::Find(TrialId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &trials_[found->second];
}

const Trial& Core::Get(TrialId id) const {
  const Trial* trial = Find(id);
  RETORT_CHECK(trial != nullptr);
  return *trial;
}

const std::string& Core::SpecText(TrialId id) {
  Trial& trial = trials_[by_id_.at(id)];
  if (trial.spec_text == nullptr) trial.spec_text = std::make_shared<const std::string>(EncodeTrialSpec(trial.spec));
  return *trial.spec_text;
}

std::size_t Core::CountFinal() const {
  return CountIn(TrialState::succeeded) + CountIn(TrialState::failed) + CountIn(TrialState::parent_failed) +
         CountIn(TrialState::cancelled);
}

bool Core::AllFinal() const { return CountFinal() == plan_.size(); }

Result<std::size_t> Core::FindIndex(TrialId id) const {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return DamageError("journal: trial " + id.Hex() + " was never planned");
  return found->second;
}

Result<std::size_t> Core::FindIndex(AttemptId id) const {
  RETORT_ASSIGN_OR_RETURN(const std::size_t index, FindIndex(id.trial));
  const Trial& trial = trials_[index];
  if (trial.attempts != id.number)
    return Illegal(trial, "at attempt " + std::to_string(trial.attempts) + " and not " + std::to_string(id.number));
  return index;
}

Status Core::CheckTrial(std::size_t index) const {
  const Trial& trial = trials_[index];
  const ActiveAttempt* active = fleet.Find(trial.spec.id);
  if (active != nullptr && !IsActive(trial.state)) return Illegal(trial, "yet an attempt of it is active");
  if (active != nullptr && active->id.number != trial.attempts) return Illegal(trial, "yet an older attempt is active");
  if (active != nullptr && active->started != (trial.state == TrialState::running))
    return Illegal(trial, "against what its active attempt says");
  if (trial.row && !IsFinal(trial.state)) return Illegal(trial, "yet has a row");
  if (trial.row && trial.row->state != GetStateName(trial.state)) return Illegal(trial, "and its row says otherwise");
  if (trial.state == TrialState::succeeded && !trial.row && !trial.ended)
    return Illegal(trial, "but nothing is left to make its row from");
  if (!trial.spec.parent) {
    if (trial.state == TrialState::waiting || trial.state == TrialState::parent_failed)
      return Illegal(trial, "but has no teacher");
    return {};
  }
  const TrialState parent = Get(*trial.spec.parent).state;
  const bool parent_bad = IsFinal(parent) && parent != TrialState::succeeded;
  if (trial.state == TrialState::waiting && IsFinal(parent)) return Illegal(trial, "but its teacher has ended");
  if (trial.state == TrialState::parent_failed && !parent_bad) return Illegal(trial, "but its teacher has not");
  const bool begun = IsActive(trial.state) || trial.state == TrialState::queued || trial.state == TrialState::succeeded;
  if (begun && parent != TrialState::succeeded) return Illegal(trial, "but its teacher has not succeeded");
  return {};
}

Status Core::CheckInvariants() const {
  RETORT_RETURN_IF_ERROR(fleet.CheckInvariants());
  std::array<std::size_t, 9> counts{};
  std::size_t ready = 0, owed = 0, rowless = 0, retries = 0, begun = 0;
  for (std::size_t index = 0; index < trials_.size(); ++index) {
    RETORT_RETURN_IF_ERROR(CheckTrial(index));
    const Trial& trial = trials_[index];
    if (!trial.planned) continue;
    ++counts[static_cast<std::size_t>(trial.state)];
    if (trial.state == TrialState::queued) {
      ready += ready_.count({-trial.spec.execution.priority, trial.position, index});
      if (trial.retry_at > 0 && !retries_.contains({trial.retry_at, index}))
        return Illegal(trial, "and its retry is not on the list");
      retries += trial.retry_at > 0 ? 1 : 0;
      begun += trial.attempts > 0 ? 1 : 0;
    }
    if (IsFinal(trial.state) && !trial.row) {
      ++rowless;
      owed += missing_rows_.count({trial.position, index});
    }
    if (trial.position >= plan_.size() || plan_[trial.position] != index)
      return Illegal(trial, "and not where the plan says");
  }
  if (counts != counts_) return Refused("counts by state are wrong");
  if (ready != ready_.size() || ready != CountIn(TrialState::queued)) return Refused("the queue is wrong");
  if (retries != retries_.size()) return Refused("the list of retries is wrong");
  if (begun != ready_begun_) return Refused("the count of queued trials that were begun is wrong");
  if (owed != missing_rows_.size() || owed != rowless) return Refused("the list of owed rows is wrong");
  for (const auto& [id, attempt] : fleet.active())
    if (Find(id) == nullptr) return Refused("an unknown trial is active");
  return {};
}

}  // namespace retort::orchestrator
