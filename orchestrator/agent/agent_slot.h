// One slot of an agent: its worker process and the attempt on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "cluster/waiting.h"
#include "orchestrator/agent/worker_port.h"
#include "orchestrator/core/step_watch.h"

namespace retort::orchestrator {

// Runs attempts one after the other. The worker is started for the first attempt and kept for the next ones. A worker
// that failed an attempt, died, hung or sent what is no message is replaced. Messages for the orchestrator are appended
// to the vector that the constructor was given. Times are monotonic seconds.
class AgentSlot {
 public:
  AgentSlot(int slot, const WorkerSpawner& spawn, std::vector<cluster::Envelope>& outgoing)
      : slot_(slot), spawn_(spawn), outgoing_(outgoing) {}

  // Begins an attempt. What the slot was doing is dropped without a report, since the orchestrator has given it up.
  // `deadline_seconds` is the spec's.
  void Lease(AttemptId attempt, Generation generation, const cluster::Start& start, double deadline_seconds,
             double now);
  // Forwards messages of this slot's attempt to the worker: Reserved (gang rank 0), GangReady (the others) and
  // Stop{save}. Stop without save ends the worker. Everything else is ignored.
  void ForwardToWorker(const cluster::Envelope& envelope, double now);
  // Asks the worker to save and stop; kills it at `now` + `deadline_seconds`.
  void Drain(bool save, double deadline_seconds, double now);
  // Handles the worker's messages and its end, starts a worker where one is due, and checks deadlines.
  void Poll(double now);
  void Kill();
  void IgnoreGap(double seconds);

  [[nodiscard]] int fd() { return worker_ && !closed_ ? worker_->fd() : -1; }
  [[nodiscard]] bool has_worker() const { return worker_ != nullptr; }
  [[nodiscard]] std::int64_t PeakBytes() const { return worker_ ? worker_->PeakBytes() : 0; }
  [[nodiscard]] bool busy() const { return assignment_.has_value(); }
  // Monotonic time at which Poll has something to do though the worker is silent; infinity when never.
  [[nodiscard]] double NextDeadline() const;
  [[nodiscard]] std::uint64_t spawns() const { return spawns_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  struct Assignment {
    AttemptId attempt;
    Generation generation;
    cluster::Start start;
    bool sent = false;  // Start went to the worker
    StepWatch watch;
    std::optional<double> kill_at;           // after a Stop{save}
    std::optional<cluster::Envelope> early;  // GangReady that came before the worker was up
  };

  [[nodiscard]] bool Leads() const { return assignment_->start.gang_rank == 0; }
  [[nodiscard]] bool IsCurrent(AttemptId attempt, Generation generation) const;
  void Spawn(double now);
  void SendStart(double now);
  // Takes at most `most` messages; what is left keeps the descriptor readable.
  void Receive(double now, int most);
  void FromWorker(const cluster::Envelope& envelope, double now);
  void OnEnded(const cluster::Envelope& envelope, const cluster::Ended& ended);
  void ReapWorker(double now);
  void OnWorkerEnd(const WorkerEnd& end, double now);
  void CheckDeadlines(double now);
  // Kills the worker; its attempt is reported with this cause once the process is gone.
  void KillAndReport(FailureKind failure, const std::string& detail);
  // Kills the worker and drops its attempt without a report: the orchestrator has ended it already.
  void Forget();
  void Report(FailureKind failure, const std::string& detail);

  int slot_;
  const WorkerSpawner& spawn_;
  std::vector<cluster::Envelope>& outgoing_;
  std::unique_ptr<WorkerPort> worker_;
  bool hello_received_ = false;          // the worker said Hello
  bool closed_ = false;                  // the worker has closed its end of the channel
  bool killed_ = false;                  // killed by this agent, not yet reaped
  double end_due_ = 0;                   // monotonic: when a worker that closed its channel is killed
  double next_reap_check_ = 0;           // monotonic: when to look for its end again
  std::optional<WorkerEnd> kill_cause_;  // what is reported of its attempt, where anything is
  std::optional<Assignment> assignment_;
  cluster::SpawnBackoff backoff_;
  std::uint64_t spawns_ = 0;
  std::uint64_t malformed_ = 0;
};

}  // namespace retort::orchestrator
