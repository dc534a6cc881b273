#include "tests/simulation/world_checks.h"

#include <algorithm>

namespace retort::testing {

using orchestrator::ActiveAttempt;

void WorldChecks::Alarm(const std::string& what) {
  if (alarm_.ok()) alarm_ = Refused("alarm: " + what);
}

void WorldChecks::Restarted() {
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
    for (const privacy::PrivacyEvent& event : ledger.EventsOf(trial)) charged += event.count;
    if (drawn_[trial] > charged)
      Alarm("trial " + trial.Hex() + " drew " + std::to_string(drawn_[trial]) + " times and is charged " +
            std::to_string(charged));
  }
}

}  // namespace retort::testing
