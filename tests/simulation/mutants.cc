// What a wrong orchestrator would do.
#include <utility>

#include "orchestrator/reactor/reactor.h"
#include "tests/simulation/simulated_cluster.h"

namespace retort::testing {

void SimulatedCluster::CorruptHeard(int& rank, cluster::Envelope& envelope) {
  if (mutant_ != Mutant::accepts_stale_messages) return;
  const orchestrator::ActiveAttempt* current = core().fleet.Find(envelope.attempt.trial);
  if (current == nullptr || current->id == envelope.attempt) return;
  envelope.attempt = current->id;
  envelope.generation = current->generation;
  rank = current->leader().value;
}

void SimulatedCluster::LeaseTwice(orchestrator::Outbox& outbox) {
  const std::size_t count = outbox.messages.size();
  for (std::size_t i = 0; i < count; ++i) {
    const auto* lease = std::get_if<cluster::Lease>(&outbox.messages[i].envelope.message);
    if (lease == nullptr || lease->start.gang_size > 1) continue;
    const int other = (outbox.messages[i].to.value + 1) % static_cast<int>(agents_.size());
    const std::optional<Worker>& slot = agents_[static_cast<std::size_t>(other)].slots[0];
    if (slot) continue;
    orchestrator::Outgoing again = outbox.messages[i];
    again.to = WorldRank{other};
    std::get<cluster::Lease>(again.envelope.message).slot = 0;
    outbox.messages.push_back(std::move(again));
  }
}

void SimulatedCluster::CorruptTick() {
  if (mutant_ == Mutant::leaves_devices_idle) core().may_lease = !Happens(0.2);
  if (mutant_ != Mutant::forgets_a_trial) return;
  orchestrator::PlanAdopted adopted;
  bool forgotten = false;
  for (const std::size_t index : core().plan()) {
    const orchestrator::Trial& trial = core().At(index);
    const bool failed_once = trial.state == orchestrator::TrialState::queued && !trial.failures.empty();
    if (failed_once && !forgotten)
      forgotten = true;
    else
      adopted.order.push_back(trial.spec.id);
  }
  if (forgotten) RETORT_CHECK(core().Apply({now().unix_seconds, std::move(adopted)}).ok());
}

void SimulatedCluster::CorruptOutbox(orchestrator::Outbox& outbox) {
  if (mutant_ == Mutant::leases_twice) LeaseTwice(outbox);
  for (orchestrator::Outgoing& message : outbox.messages) {
    auto* lease = std::get_if<cluster::Lease>(&message.envelope.message);
    if (mutant_ == Mutant::splits_gangs && lease != nullptr && lease->start.gang_rank > 0)
      lease->slot = (lease->slot + 1) % slots_;
  }
  for (auto request = outbox.ledger.begin(); request != outbox.ledger.end();) {
    auto* settle = std::get_if<orchestrator::LedgerSettle>(&*request);
    if (mutant_ == Mutant::settles_too_little && settle != nullptr) settle->used /= 2;
    const auto* reserve = std::get_if<orchestrator::LedgerReserve>(&*request);
    // Not the first of an attempt: some entry of it is there already.
    if (mutant_ == Mutant::grants_unasked_ledger && reserve != nullptr && reserve->request > 1) {
      orchestrator::OnLedgerReserved(core(), *reserve, ~std::uint64_t{0}, outbox);
      request = outbox.ledger.erase(request);
    } else {
      ++request;
    }
  }
}

}  // namespace retort::testing
