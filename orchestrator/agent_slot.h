// One slot of an agent: its worker process and the attempt on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/envelope.h"
#include "cluster/spawn_backoff.h"
#include "orchestrator/step_watch.h"
#include "orchestrator/worker_port.h"

namespace retort::orchestrator {

// Takes attempts one after the other; the worker is started for the first and kept for the next ones.
// A worker that failed an attempt, died, hung or babbled is replaced. Messages for the orchestrator are
// appended to the vector that the constructor was given. Times are monotonic seconds.
class AgentSlot {
 public:
  AgentSlot(int slot, const WorkerSpawner& spawn, std::vector<cluster::Envelope>& outgoing)
      : slot_(slot), spawn_(spawn), outgoing_(outgoing) {}

  // A lease replaces whatever the slot was doing, silently: the orchestrator has given that up.
  // `deadline_seconds` is the spec's.
  void Lease(AttemptId attempt, Generation generation, const cluster::Start& start, double deadline_seconds,
             double now);
  // Of this slot's attempt: Reserved (to gang rank 0), GangReady (to the others) and Stop{save} go on to the
  // worker; Stop without save ends it. Anything else is ignored.
  void ToWorker(const cluster::Envelope& envelope, double now);
  // Asks the worker to save and stop; kills it at `now` + `deadline_seconds`.
  void Drain(bool save, double deadline_seconds, double now);
  // Moves everything that can move: messages, ends, spawns, deadlines.
  void Poll(double now);
  void Kill();
  void Forgive(double seconds);

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
    std::optional<double> kill_at;  // after a Stop{save}
    std::optional<cluster::Envelope> early;  // GangReady that came before the worker was up
  };

  [[nodiscard]] bool Leads() const { return assignment_->start.gang_rank == 0; }
  [[nodiscard]] bool IsCurrent(AttemptId attempt, Generation generation) const;
  void Spawn(double now);
  void SendStart(double now);
  // At most `most` messages; what is left keeps the descriptor readable.
  void Receive(double now, int most);
  void FromWorker(const cluster::Envelope& envelope, double now);
  void OnEnded(const cluster::Envelope& envelope, const cluster::Ended& ended);
  void ReapWorker(double now);
  void OnWorkerEnd(const WorkerEnd& end, double now);
  void CheckDeadlines(double now);
  // Kills the worker; its attempt is reported with this cause once the process is gone.
  void Condemn(FailureKind failure, const std::string& detail);
  // The attempt is over as far as the orchestrator is concerned: its worker goes, nothing is reported.
  void Forget();
  void Report(FailureKind failure, const std::string& detail);

  int slot_;
  const WorkerSpawner& spawn_;
  std::vector<cluster::Envelope>& outgoing_;
  std::unique_ptr<WorkerPort> worker_;
  bool greeted_ = false;              // the worker said Hello
  bool closed_ = false;               // and has closed its end
  bool condemned_ = false;            // killed by this agent, not yet reaped
  double end_due_ = 0;                // of a closed one: when it is killed
  double look_again_ = 0;             // while its end is awaited
  std::optional<WorkerEnd> verdict_;  // why it was condemned, when its attempt is to be reported
  std::optional<Assignment> assignment_;
  cluster::SpawnBackoff backoff_;
  std::uint64_t spawns_ = 0;
  std::uint64_t malformed_ = 0;
};

}  // namespace retort::orchestrator
