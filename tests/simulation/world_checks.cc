#include "tests/simulation/world_checks.h"

#include <algorithm>

namespace retort::testing {

using orchestrator::ActiveAttempt;
using orchestrator::Core;
using orchestrator::Trial;
using orchestrator::TrialState;

namespace {

// Devices of the rank that take work.
int UsableOn(const orchestrator::AgentSeats& agent) {
  return agent.lost ? 0 : static_cast<int>(std::count(agent.drained.begin(), agent.drained.end(), false));
}

// Of `free`, one that nobody would keep for a gang of `devices`: where a host is large enough for it, those
// of smaller ones.
bool HasUnkept(const Core& core, const std::vector<orchestrator::Seat>& free, int devices) {
  const auto fits = [&](const auto& agent) { return UsableOn(agent.second) >= devices; };
  const auto& agents = core.fleet.agents();
  if (std::none_of(agents.begin(), agents.end(), fits)) return false;
  return std::any_of(free.begin(), free.end(),
                     [&](const orchestrator::Seat& seat) { return UsableOn(agents.at(seat.rank)) < devices; });
}

// Somebody will do something about it yet.
bool IsInHand(const Core& core, const std::set<TrialId>& ready, const Trial& trial) {
  if (core.ended) return core.stop.has_value();
  if (trial.state == TrialState::waiting) return !IsFinal(core.Get(*trial.spec.parent).state);
  return trial.state == TrialState::queued ? ready.contains(trial.spec.id) : core.fleet.Find(trial.spec.id) != nullptr;
}

}  // namespace

void WorldChecks::Alarm(const std::string& what) {
  if (alarm_.ok()) alarm_ = Refused("alarm: " + what);
}

void WorldChecks::Restarted(const SweepPlan& plan) {
  asked_.clear();
  for (const TrialSpec& spec : plan.trials) asked_.push_back(spec.id);
  entries_.clear();
  entries_read_ = 0;
}

void WorldChecks::Granted(AttemptId attempt, Generation generation, std::uint64_t request,
                          const storage::PrivacyLedger& ledger) {
  for (; entries_read_ < ledger.entries().size(); ++entries_read_) {
    const storage::LedgerEntry& entry = ledger.entries()[entries_read_];
    ++entries_[{entry.attempt, Generation{entry.generation}}];
  }
  std::set<std::uint64_t>& requests = granted_[{attempt, generation}];
  requests.insert(request);
  if (requests.size() > entries_[{attempt, generation}])
    Alarm("a grant without a reservation behind it, to trial " + attempt.trial.Hex());
}

void WorldChecks::Drew(TrialId trial, std::int64_t draws) {
  drawn_[trial] += draws;
  touched_.insert(trial);
}

void WorldChecks::GotLease(bool at_its_place) {
  if (!at_its_place) Alarm("a gang was split");
}

void WorldChecks::Works(const orchestrator::Core& core, AttemptId attempt, Generation generation,
                        orchestrator::Seat seat) {
  const ActiveAttempt* current = core.fleet.Find(attempt.trial);
  const bool same = current != nullptr && current->id == attempt && current->generation == generation;
  if (same && std::find(current->seats.begin(), current->seats.end(), seat) != current->seats.end()) return;
  Alarm("trial " + attempt.trial.Hex() + " is at work on slot " + std::to_string(seat.slot) + " of rank " +
        std::to_string(seat.rank.value) + ", where it should not be");
}

void WorldChecks::Ticked(const Core& core, orchestrator::Now now) {
  CheckNothingIsLost(core);
  if (!core.ended && !core.stop) CheckNothingIsIdle(core, now);
}

void WorldChecks::CheckNothingIsLost(const Core& core) {
  std::set<TrialId> ready;
  for (const Core::ReadyKey& key : core.ready()) ready.insert(core.At(key.index).spec.id);
  for (const TrialId id : asked_) {
    const Trial* trial = core.Find(id);
    const bool planned = trial != nullptr && trial->planned;
    if (!planned || (!IsFinal(trial->state) && !IsInHand(core, ready, *trial))) Alarm("trial " + id.Hex() + " is lost");
  }
}

void WorldChecks::CheckNothingIsIdle(const Core& core, orchestrator::Now now) {
  const std::vector<orchestrator::Seat> free = core.fleet.FreeSeats();
  if (free.empty()) return;
  const int live = core.fleet.CountLiveSlots();
  int kept_for = 0;  // devices of the first gang that waits
  for (const Core::ReadyKey& key : core.ready()) {
    const Trial& trial = core.At(key.index);
    const int devices = trial.spec.devices;
    if (trial.retry_at > now.unix_seconds || devices > live) continue;
    const bool fits =
        kept_for == 0 ? devices <= static_cast<int>(free.size()) : devices == 1 && HasUnkept(core, free, kept_for);
    if (fits) Alarm("devices are idle while trial " + trial.spec.id.Hex() + " waits");
    if (kept_for == 0) kept_for = devices;
  }
}

void WorldChecks::Committed(const orchestrator::Outbox& outbox, const storage::PrivacyLedger& ledger) {
  for (const auto& request : outbox.ledger) {
    const auto* settle = std::get_if<orchestrator::LedgerSettle>(&request);
    if (settle == nullptr) continue;
    const auto entry = std::find_if(ledger.entries().rbegin(), ledger.entries().rend(),
                                    [&](const storage::LedgerEntry& e) { return e.id == settle->entry; });
    if (entry != ledger.entries().rend()) touched_.insert(entry->attempt.trial);
  }
  CheckDraws(ledger);
  for (const orchestrator::JournalEvent& event : outbox.journal) {
    const auto* ended = std::get_if<orchestrator::AttemptEnded>(&event.event);
    if (ended == nullptr) continue;
    const bool own = ended->failure == FailureKind::agent_lost || ended->failure == FailureKind::worker_hang;
    if (!own && !ends_.contains({ended->attempt, ended->failure}))
      Alarm("an end that no worker said, of trial " + ended->attempt.trial.Hex());
  }
}

void WorldChecks::CheckDraws(const storage::PrivacyLedger& ledger) {
  for (const TrialId trial : std::exchange(touched_, {})) {
    std::int64_t charged = 0;
    for (const privacy::PrivacyEvent& event : ledger.CollectEvents(trial)) charged += event.count;
    if (drawn_[trial] > charged)
      Alarm("trial " + trial.Hex() + " drew " + std::to_string(drawn_[trial]) + " times and is charged " +
            std::to_string(charged));
  }
}

}  // namespace retort::testing
