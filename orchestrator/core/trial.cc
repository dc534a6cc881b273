#include "orchestrator/core/trial.h"

#include <array>
#include <utility>

namespace retort::orchestrator {
namespace {

using enum TrialState;

constexpr std::array<std::pair<TrialState, std::string_view>, 8> kNames = {{
    {waiting, "waiting"},
    {queued, "queued"},
    {leased, "leased"},
    {running, "running"},
    {succeeded, "succeeded"},
    {failed, "failed"},
    {parent_failed, "parent-failed"},
    {cancelled, "cancelled"},
}};

struct Transition {
  TrialState from;
  TrialEvent event;
  TrialState to;
};

// All legal pairs. A reopened trial whose teacher may be missing waits for the teacher again; a failed trial has had
// its teacher and is queued at once.
constexpr std::array<Transition, 18> kTransitions = {{
    {waiting, TrialEvent::parent_succeeded, queued},
    {waiting, TrialEvent::parent_ended_badly, parent_failed},
    {waiting, TrialEvent::cancel, cancelled},
    {queued, TrialEvent::lease, leased},
    {queued, TrialEvent::cancel, cancelled},
    {leased, TrialEvent::started, running},
    {leased, TrialEvent::attempt_failed_retry, queued},
    {leased, TrialEvent::attempt_failed_for_good, failed},
    {leased, TrialEvent::cancel, cancelled},
    {running, TrialEvent::progress, running},
    {running, TrialEvent::attempt_succeeded, succeeded},
    {running, TrialEvent::attempt_failed_retry, queued},
    {running, TrialEvent::attempt_failed_for_good, failed},
    {running, TrialEvent::cancel, cancelled},
    {failed, TrialEvent::reopen, queued},
    {parent_failed, TrialEvent::reopen, waiting},
    {cancelled, TrialEvent::reopen, waiting},
    {parent_failed, TrialEvent::cancel, cancelled},
}};

}  // namespace

std::optional<TrialState> FindNextState(TrialState state, TrialEvent event) {
  for (const Transition& transition : kTransitions)
    if (transition.from == state && transition.event == event) return transition.to;
  return std::nullopt;
}

std::string_view GetStateName(TrialState state) {
  for (const auto& [value, name] : kNames)
    if (value == state) return name;
  return "unknown";
}

bool IsFinal(TrialState state) {
  return state == succeeded || state == failed || state == parent_failed || state == cancelled;
}

Result<storage::ResultRow> StoredRow::Read(std::string_view state) const {
  RETORT_CHECK(has_value());
  if (row_ != nullptr) return *row_;
  RETORT_ASSIGN_OR_RETURN(storage::ResultRow row, Unpack());
  if (row.state != state)
    return DamageError("journal: trial " + row.trial + " is " + std::string(state) + ", its row says " + row.state);
  return row;
}

Result<storage::ResultRow> StoredRow::Unpack() const {
  std::string json;
  texts_->Expand(stored_, json);
  RETORT_ASSIGN_OR_RETURN(storage::ResultRow row, storage::DecodeRow(json));
  if (row.trial != trial_.Hex())
    return DamageError("journal: the row of trial " + trial_.Hex() + " names trial " + row.trial);
  return row;
}

const storage::ResultRow& StoredRow::operator*() const {
  if (row_ != nullptr) return *row_;
  Result<storage::ResultRow> row = Unpack();
  if (!row.ok()) {
    storage::ResultRow unreadable;
    unreadable.trial = trial_.Hex();
    unreadable.detail = row.status().message();
    row = std::move(unreadable);
  }
  row_ = std::make_shared<const storage::ResultRow>(std::move(*row));
  return *row_;
}

}  // namespace retort::orchestrator
