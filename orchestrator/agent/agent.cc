#include "orchestrator/agent/agent.h"

#include <algorithm>
#include <utility>

#include "experiments/methods/spec_codec.h"

namespace retort::orchestrator {

Agent::Agent(AgentIdentity identity, WorkerSpawner spawn, double now)
    : identity_(std::move(identity)),
      spawn_(std::move(spawn)),
      started_(now),
      last_poll_(now),
      next_heartbeat_(now + kHeartbeatSeconds) {
  const std::size_t slots = identity_.devices.size();
  for (std::size_t slot = 0; slot < slots * static_cast<std::size_t>(identity_.seats_per_slot); ++slot)
    slots_.emplace_back(static_cast<int>(slot), spawn_, outgoing_);
  outgoing_.push_back(
      {{},
       {},
       0,
       cluster::Register{identity_.host, static_cast<int>(slots), identity_.devices, identity_.build, identity_.address,
                         identity_.seats_per_slot, identity_.host_identity, identity_.device_uuids}});
}

void Agent::OnMessage(const cluster::Envelope& envelope, double now) {
  if (shut_down_) return;
  if (const auto* lease = std::get_if<cluster::Lease>(&envelope.message)) {
    OnLease(envelope, *lease, now);
  } else if (const auto* drain = std::get_if<cluster::Drain>(&envelope.message)) {
    draining_ = true;
    for (AgentSlot& slot : slots_) slot.Drain(drain->save, drain->deadline_seconds, now);
  } else if (std::holds_alternative<cluster::Shutdown>(envelope.message)) {
    KillAll();
    shut_down_ = true;
  } else {
    for (AgentSlot& slot : slots_) slot.ForwardToWorker(envelope, now);
  }
}

void Agent::OnLease(const cluster::Envelope& envelope, const cluster::Lease& lease, double now) {
  if (lease.slot < 0 || static_cast<std::size_t>(lease.slot) >= slots_.size() || draining_) {
    const cluster::WorkerLost refused{draining_ ? FailureKind::stopped : FailureKind::configuration,
                                      draining_ ? "its agent is stopping" : "its agent has no such slot"};
    outgoing_.push_back({envelope.attempt, envelope.generation, 0, refused});
    return;
  }
  const Result<TrialSpec> spec = DecodeTrialSpec(lease.start.spec);
  const double deadline = spec.ok() ? spec->execution.deadline_seconds : 0;
  slots_[static_cast<std::size_t>(lease.slot)].Lease(envelope.attempt, envelope.generation, lease.start, deadline, now);
}

void Agent::Poll(double now) {
  if (shut_down_) return;
  // The time in which this process itself was stopped does not count.
  if (now - last_poll_ > kHeartbeatSeconds)
    for (AgentSlot& slot : slots_) slot.IgnoreGap(now - last_poll_);
  last_poll_ = now;
  for (AgentSlot& slot : slots_) slot.Poll(now);
  if (now < next_heartbeat_) return;
  next_heartbeat_ = now + kHeartbeatSeconds;
  cluster::Heartbeat heartbeat{now - started_};
  if (identity_.memory_available) heartbeat.memory_available = identity_.memory_available();
  for (const AgentSlot& slot : slots_) heartbeat.worker_peak = std::max(heartbeat.worker_peak, slot.PeakBytes());
  outgoing_.push_back({{}, {}, 0, heartbeat});
}

std::vector<cluster::Envelope> Agent::TakeOutgoing() {
  std::vector<cluster::Envelope> taken = std::exchange(outgoing_, {});
  for (cluster::Envelope& envelope : taken) envelope.sequence = ++sequence_;
  return taken;
}

void Agent::KillAll() {
  for (AgentSlot& slot : slots_) slot.Kill();
}

std::vector<int> Agent::ReadableFds() {
  std::vector<int> fds;
  for (AgentSlot& slot : slots_)
    if (slot.fd() >= 0) fds.push_back(slot.fd());
  return fds;
}

double Agent::NextDeadline() const {
  double next = next_heartbeat_;
  for (const AgentSlot& slot : slots_) next = std::min(next, slot.NextDeadline());
  return next;
}

int Agent::busy() const {
  return static_cast<int>(std::count_if(slots_.begin(), slots_.end(), [](const AgentSlot& s) { return s.busy(); }));
}

int Agent::workers() const {
  return static_cast<int>(
      std::count_if(slots_.begin(), slots_.end(), [](const AgentSlot& s) { return s.has_worker(); }));
}

std::uint64_t Agent::spawns() const {
  std::uint64_t sum = 0;
  for (const AgentSlot& slot : slots_) sum += slot.spawns();
  return sum;
}

std::uint64_t Agent::malformed() const {
  std::uint64_t sum = 0;
  for (const AgentSlot& slot : slots_) sum += slot.malformed();
  return sum;
}

}  // namespace retort::orchestrator
