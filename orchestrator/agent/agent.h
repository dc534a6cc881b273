// The agent of one rank: it supervises the workers of the rank's devices and passes messages between them and the
// orchestrator.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "orchestrator/agent/agent_slot.h"
#include "orchestrator/agent/worker_port.h"

namespace retort::orchestrator {

struct AgentIdentity {
  std::string host;
  std::string build;
  std::vector<std::string> devices;                     // one slot each: "cpu", "cuda:0"
  std::string address;                                  // of the host, as other hosts reach it
  int seats_per_slot = 1;                               // at most so many workers share a device
  std::function<std::int64_t()> memory_available = {};  // bytes of the host, 0 = not known; may be empty
  std::string host_identity = {};                       // tells hosts of one name apart; may be empty
  std::vector<std::string> device_uuids = {};           // by slot, as far as they are known
};

// Runs in one thread and never blocks. Times are monotonic seconds.
class Agent {
 public:
  Agent(AgentIdentity identity, WorkerSpawner spawn, double now);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Takes a message from the orchestrator.
  void OnMessage(const cluster::Envelope& envelope, double now);
  // Handles messages and ends of workers, deadlines and heartbeats. Call it when a descriptor of ReadableFds is
  // readable and when NextDeadline has passed.
  void Poll(double now);
  // Returns the messages for the orchestrator, in order. The first one is Register.
  [[nodiscard]] std::vector<cluster::Envelope> TakeOutgoing();
  [[nodiscard]] bool has_outgoing() const { return !outgoing_.empty(); }
  // Kills every worker and drops its attempt without a report.
  void KillAll();

  [[nodiscard]] std::vector<int> ReadableFds();
  [[nodiscard]] double NextDeadline() const;
  [[nodiscard]] bool shut_down() const { return shut_down_; }  // Shutdown came; no worker is left
  [[nodiscard]] int devices() const { return static_cast<int>(identity_.devices.size()); }
  [[nodiscard]] int busy() const;
  [[nodiscard]] int workers() const;
  [[nodiscard]] std::uint64_t spawns() const;
  [[nodiscard]] std::uint64_t malformed() const;

 private:
  void OnLease(const cluster::Envelope& envelope, const cluster::Lease& lease, double now);

  AgentIdentity identity_;
  WorkerSpawner spawn_;
  std::vector<cluster::Envelope> outgoing_;
  std::deque<AgentSlot> slots_;  // never moved: slots refer to spawn_ and outgoing_
  double started_ = 0;
  double last_poll_ = 0;
  double next_heartbeat_ = 0;
  std::uint64_t sequence_ = 0;
  bool draining_ = false;
  bool shut_down_ = false;
};

}  // namespace retort::orchestrator
