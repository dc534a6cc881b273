#include "tests/simulation/simulated_cluster.h"

#include <algorithm>
#include <limits>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/amendment.h"
#include "orchestrator/reactor/reactor.h"

namespace retort::testing {
namespace {

constexpr double kStepSeconds = 0.5;
constexpr std::int64_t kBlock = 4;  // steps covered by one reservation

privacy::PrivacyEvent StepEvent() {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::gaussian_gradient;
  event.unit = privacy::EventUnit::row;
  event.sensitivity = 0.25;
  event.noise_std = 2;
  event.noise_coordinates = event.release_coordinates = 10;
  event.source = privacy::NoiseSource::seeded;
  return event;
}

}  // namespace

SimulatedCluster::SimulatedCluster(std::uint64_t seed, int agents, int slots, FaultRates storm, Mutant mutant)
    : random_(seed), storm_(storm), slots_(slots), agents_(static_cast<std::size_t>(agents)), mutant_(mutant) {
  for (Agent& agent : agents_) agent.slots.resize(static_cast<std::size_t>(slots));
}

bool SimulatedCluster::Happens(double chance) {
  return chance > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < chance;
}

Status SimulatedCluster::StartOrchestrator(const SweepPlan& plan) {
  RETORT_RETURN_IF_ERROR(Recover());
  return Open(plan);
}

Status SimulatedCluster::StartSearch(const orchestrator::PlanSearch& plan) {
  RETORT_RETURN_IF_ERROR(Recover());
  plan_search_ = plan;
  core().more_may_come = true;
  RETORT_ASSIGN_OR_RETURN(const SearchHistory history, orchestrator::CollectHistory(core()));
  RETORT_ASSIGN_OR_RETURN(const SweepPlan known, plan(history));
  return Open(known);
}

Status SimulatedCluster::Recover() {
  recovered_.reset();
  to_orchestrator_.clear();
  orchestrator::Settings settings;
  settings.results = kResults;
  settings.provenance_json = "{}";
  settings.world_size = static_cast<int>(agents_.size());
  RETORT_RETURN_IF_ERROR(disk_.CreateDirectories(kResults));
  RETORT_ASSIGN_OR_RETURN(recovered_, orchestrator::RecoverResults(disk_, settings));
  for (std::size_t rank = 0; rank < agents_.size(); ++rank) {
    agents_[rank] = {};
    agents_[rank].slots.assign(static_cast<std::size_t>(slots_), std::nullopt);
    Register(static_cast<int>(rank));
  }
  return {};
}

Status SimulatedCluster::Open(const SweepPlan& plan) {
  checks_.Restarted(plan);
  orchestrator::Outbox outbox;
  RETORT_RETURN_IF_ERROR(orchestrator::OpenSweep(core(), plan, now(), outbox));
  return Commit(outbox);
}

void SimulatedCluster::Register(int rank) {
  agents_[static_cast<std::size_t>(rank)].heartbeat_at = time_ + orchestrator::kHeartbeatSeconds;
  cluster::Register message;
  message.host = "node" + std::to_string(rank);
  message.slots = slots_;
  message.devices.assign(static_cast<std::size_t>(slots_), "cpu");
  // The first words of a process are never lost: without them it does not exist.
  to_orchestrator_.emplace_back(rank, cluster::Encode({{}, {}, 0, message}));
}

void SimulatedCluster::Say(int rank, cluster::Message message, const Worker* worker) {
  cluster::Envelope envelope;
  if (worker != nullptr) {
    envelope.attempt = worker->attempt;
    envelope.generation = worker->generation;
  }
  const auto* ended = std::get_if<cluster::Ended>(&message);
  // An agent passes on what gang rank 0 says, and of the others only that they failed.
  if (worker != nullptr && worker->gang_rank > 0 && !std::holds_alternative<cluster::WorkerLost>(message) &&
      (ended == nullptr || ended->succeeded))
    return;
  if (ended != nullptr) checks_.SaidEnd(worker->attempt, ended->failure);
  if (const auto* lost = std::get_if<cluster::WorkerLost>(&message)) checks_.SaidEnd(worker->attempt, lost->failure);
  envelope.message = std::move(message);
  std::string bytes = cluster::Encode(envelope);
  said_.emplace_back(rank, bytes);
  if (IsFrozen(agents_[static_cast<std::size_t>(rank)])) {
    agents_[static_cast<std::size_t>(rank)].kept.push_back(std::move(bytes));
    return;
  }
  Enqueue(rank, std::move(bytes));
}

void SimulatedCluster::Enqueue(int rank, std::string bytes) {
  if (Happens(storm_.drop)) return;
  if (Happens(storm_.duplicate)) to_orchestrator_.emplace_back(rank, bytes);
  if (Happens(storm_.delay) && !to_orchestrator_.empty())
    to_orchestrator_.emplace(to_orchestrator_.end() - 1, rank, std::move(bytes));
  else
    to_orchestrator_.emplace_back(rank, std::move(bytes));
}

bool SimulatedCluster::GangIsWhole(const Worker& worker) const {
  return std::all_of(worker.members.begin(), worker.members.end(), [&](const std::pair<int, int>& member) {
    const Agent& agent = agents_[static_cast<std::size_t>(member.first)];
    const std::optional<Worker>& slot = agent.slots[static_cast<std::size_t>(member.second)];
    return agent.alive && slot && slot->attempt == worker.attempt && slot->generation == worker.generation;
  });
}

void SimulatedCluster::Work(int rank, std::optional<Worker>& slot) {
  Worker& worker = *slot;
  if (worker.hung || worker.waiting) return;
  if (Happens(storm_.worker_crash)) {
    Say(rank, cluster::WorkerLost{FailureKind::worker_killed, "it was killed"}, &worker);
    slot.reset();
  } else if (Happens(storm_.worker_failure)) {
    cluster::Ended ended;
    ended.failure = Happens(0.5) ? FailureKind::out_of_memory : FailureKind::not_finite;
    Say(rank, ended, &worker);
    slot.reset();
  } else if (Happens(storm_.worker_hang)) {
    worker.hung = true;
  } else if (worker.gang_rank > 0) {
    return;  // it follows gang rank 0
  } else if (worker.members.size() > 1 && !GangIsWhole(worker)) {
    cluster::Ended ended;
    ended.failure = FailureKind::gang_broken;
    Say(rank, ended, &worker);
    ++broken_gangs_;
    slot.reset();
  } else if (worker.step == worker.steps) {
    Finish(rank, slot);
  } else {
    ++worker.step;
    if (worker.step % kBlock != 1) checks_.Drew(worker.attempt.trial, 1);
    if (worker.members.size() > 1) ++gang_steps_;
    Say(rank, cluster::Progress{worker.step, worker.steps, "train", {{"loss", 1.0}}}, &worker);
    if (worker.step % kBlock == 1) {
      worker.waiting = true;
      Say(rank, cluster::Reserve{++worker.requests, StepEvent(), kBlock}, &worker);
    } else if (worker.step % kBlock == 0) {
      Say(rank, cluster::Settle{worker.requests, kBlock}, &worker);
      Say(rank, cluster::CheckpointCommitted{worker.step, "digest"}, &worker);
    }
  }
}

void SimulatedCluster::Finish(int rank, std::optional<Worker>& slot) {
  cluster::Ended ended;
  ended.succeeded = true;
  // What a deterministic trial gives: a function of the trial alone.
  const double score = static_cast<double>(slot->attempt.trial.bits() % 1000) / 1000;
  ended.metrics = {{"test.accuracy", score}, {"public.accuracy", score}};
  ended.parameters_digest = ComputeSha256Hex(slot->attempt.trial.Hex());
  ended.file = "trials/x/attempt.h5";
  Say(rank, ended, &*slot);
  const Worker leader = *slot;
  // The others end by themselves.
  for (const auto& [member, place] : leader.members)
    agents_[static_cast<std::size_t>(member)].slots[static_cast<std::size_t>(place)].reset();
}

void SimulatedCluster::Lease(int rank, const cluster::Envelope& envelope, const cluster::Lease& lease) {
  Worker worker;
  worker.attempt = envelope.attempt;
  worker.generation = envelope.generation;
  worker.steps = DecodeTrialSpec(lease.start.spec)->steps;
  worker.members = lease.members;
  worker.gang_rank = lease.start.gang_rank;
  worker.waiting = lease.start.gang_size > 1;
  checks_.GotLease(static_cast<int>(lease.members.size()) == lease.start.gang_size &&
                   (lease.start.gang_size == 1 ||
                    lease.members[static_cast<std::size_t>(worker.gang_rank)] == std::pair(rank, lease.slot)));
  if (worker.waiting && worker.gang_rank == 0) Say(rank, cluster::GangAddress{"here"}, &worker);
  agents_[static_cast<std::size_t>(rank)].slots[static_cast<std::size_t>(lease.slot)] = worker;
}

void SimulatedCluster::OnReserved(std::optional<Worker>& slot, int rank, const cluster::Reserved& reserved) {
  if (slot->gang_rank > 0 || reserved.id != slot->requests) return;
  if (!reserved.granted) {
    cluster::Ended ended;
    ended.failure = FailureKind::budget_refused;
    Say(rank, ended, &*slot);
    slot.reset();
    return;
  }
  checks_.Granted(slot->attempt, slot->generation, reserved.id, *recovered_->ledger);
  if (slot->waiting) checks_.Drew(slot->attempt.trial, 1);  // of the step that asked
  slot->waiting = false;
}

void SimulatedCluster::Obey(int rank, const cluster::Envelope& envelope) {
  Agent& agent = agents_[static_cast<std::size_t>(rank)];
  if (!agent.alive) return;
  if (IsFrozen(agent)) {
    agent.orders.push_back(envelope);
    return;
  }
  if (const auto* lease = std::get_if<cluster::Lease>(&envelope.message)) {
    Lease(rank, envelope, *lease);
    return;
  }
  for (std::optional<Worker>& slot : agent.slots) {
    if (!slot || slot->attempt != envelope.attempt || slot->generation != envelope.generation) continue;
    if (const auto* stop = std::get_if<cluster::Stop>(&envelope.message)) {
      if (stop->save)
        Save(rank, slot);
      else
        slot.reset();
    } else if (std::holds_alternative<cluster::GangReady>(envelope.message)) {
      slot->waiting = false;
    } else if (const auto* reserved = std::get_if<cluster::Reserved>(&envelope.message)) {
      OnReserved(slot, rank, *reserved);
    }
  }
}

void SimulatedCluster::Save(int rank, std::optional<Worker>& slot) {
  if (slot->hung) return;
  cluster::Ended ended;
  ended.failure = FailureKind::stopped;
  Say(rank, ended, &*slot);
  slot.reset();
}

void SimulatedCluster::AskForSomething(orchestrator::Outbox& outbox) {
  if (!Happens(storm_.request) || core().plan().empty()) return;
  const std::size_t which = std::uniform_int_distribution<std::size_t>(0, core().plan().size() - 1)(random_);
  const orchestrator::Trial& trial = core().At(core().plan()[which]);
  const auto amendment = Happens(0.5) ? orchestrator::Amendment::cancel : orchestrator::Amendment::retry;
  orchestrator::OnAmendRequest(core(), std::to_string(++requests_),
                               {amendment, core().sweep(), {{trial.spec.id, trial.attempts}}}, 10, now(), outbox);
}

void SimulatedCluster::Thaw(int rank) {
  Agent& agent = agents_[static_cast<std::size_t>(rank)];
  agent.frozen_until = 0;
  for (std::string& bytes : std::exchange(agent.kept, {})) Enqueue(rank, std::move(bytes));
  for (const cluster::Envelope& order : std::exchange(agent.orders, {})) Obey(rank, order);
}

void SimulatedCluster::Misfortune() {
  for (std::size_t rank = 0; rank < agents_.size(); ++rank) {
    Agent& agent = agents_[rank];
    if (agent.alive && Happens(storm_.agent_death)) {
      const std::size_t slots = agent.slots.size();
      agent = {};
      agent.alive = false;
      agent.slots.resize(slots);
      agent.back_at = time_ + std::uniform_real_distribution<double>(0, 60)(random_);
      if (rank > 0 && Happens(storm_.agent_loss)) agent.back_at = std::numeric_limits<double>::infinity();
    } else if (!agent.alive && time_ >= agent.back_at) {
      agent.alive = true;
      Register(static_cast<int>(rank));
    } else if (agent.alive && agent.frozen_until > 0 && !IsFrozen(agent)) {
      Thaw(static_cast<int>(rank));
    } else if (agent.alive && agent.frozen_until == 0 && Happens(storm_.freeze)) {
      agent.frozen_until = time_ + std::uniform_real_distribution<double>(0, 60)(random_);
      ++frozen_agents_;
    }
  }
  if (!said_.empty() && Happens(storm_.stale)) {
    const std::size_t which = std::uniform_int_distribution<std::size_t>(0, said_.size() - 1)(random_);
    to_orchestrator_.push_back(said_[which]);
  }
}

Status SimulatedCluster::Step() {
  time_ += kStepSeconds * std::uniform_real_distribution<double>(0, 2)(random_);
  Misfortune();
  for (std::size_t rank = 0; rank < agents_.size(); ++rank) {
    Agent& agent = agents_[rank];
    if (!agent.alive) continue;
    for (std::optional<Worker>& slot : agent.slots)
      if (slot) Work(static_cast<int>(rank), slot);
    if (time_ < agent.heartbeat_at || IsFrozen(agent)) continue;
    agent.heartbeat_at = time_ + orchestrator::kHeartbeatSeconds;
    Say(static_cast<int>(rank), cluster::Heartbeat{time_});
  }
  return Deliver();
}

Status SimulatedCluster::Deliver() {
  orchestrator::Outbox outbox;
  while (!to_orchestrator_.empty()) {
    auto [rank, bytes] = to_orchestrator_.front();
    to_orchestrator_.pop_front();
    RETORT_ASSIGN_OR_RETURN(cluster::Envelope envelope, cluster::Decode(bytes));
    CorruptHeard(rank, envelope);
    orchestrator::OnMessage(core(), WorldRank{rank}, envelope, now(), outbox);
    RETORT_RETURN_IF_ERROR(core().CheckInvariants());
  }
  AskForSomething(outbox);
  RETORT_RETURN_IF_ERROR(core().CheckInvariants());
  CorruptTick();
  orchestrator::OnTick(core(), now(), outbox);
  if (plan_search_) RETORT_RETURN_IF_ERROR(orchestrator::ContinueSearch(core(), plan_search_, now(), outbox).status());
  core().may_lease = true;
  checks_.Ticked(core(), now());
  RETORT_RETURN_IF_ERROR(core().CheckInvariants());
  return Commit(outbox);
}

Status SimulatedCluster::Commit(orchestrator::Outbox& outbox) {
  CorruptOutbox(outbox);
  RETORT_RETURN_IF_ERROR(orchestrator::CommitOutbox(*recovered_, outbox));
  for (const orchestrator::AddressedAnswer& answer : outbox.answers)
    if (answer.answer.kind != orchestrator::AnswerKind::saving) ++final_answers_;
  for (const orchestrator::Outgoing& message : outbox.messages) {
    if (mutant_ == Mutant::never_stops && std::holds_alternative<cluster::Stop>(message.envelope.message)) continue;
    Obey(message.to.value, message.envelope);
  }
  checks_.Committed(outbox, *recovered_->ledger);
  CheckWorkers();
  return checks_.status();
}

void SimulatedCluster::CheckWorkers() {
  if (core().ended) return;
  for (std::size_t rank = 0; rank < agents_.size(); ++rank) {
    const Agent& agent = agents_[rank];
    if (!agent.alive || IsFrozen(agent)) continue;
    for (std::size_t slot = 0; slot < agent.slots.size(); ++slot) {
      const std::optional<Worker>& worker = agent.slots[slot];
      const orchestrator::Seat seat{WorldRank{static_cast<int>(rank)}, static_cast<int>(slot)};
      if (worker) checks_.Works(core(), worker->attempt, worker->generation, seat);
    }
  }
}

Status SimulatedCluster::RunToEnd(int most) {
  for (int step = 0; step < most; ++step) {
    if (core().ended) return {};
    RETORT_RETURN_IF_ERROR(Step());
  }
  return core().ended ? Status() : Refused("the sweep did not end in " + std::to_string(most) + " steps");
}

std::map<std::string, std::string> SimulatedCluster::Digests() {
  std::map<std::string, std::string> digests;
  for (const std::size_t index : core().plan()) {
    const orchestrator::Trial& trial = core().At(index);
    if (trial.state == orchestrator::TrialState::succeeded && trial.row)
      digests[trial.row->trial] = trial.row->row_digest;
  }
  return digests;
}

}  // namespace retort::testing
