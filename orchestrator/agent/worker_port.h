// The part of a worker process that the agent uses, as an interface; and its implementation by a child process. Tests
// have others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/messages.h"
#include "experiments/base/failure_kind.h"
#include "experiments/base/status.h"

namespace retort::orchestrator {

// Stands in the text of a worker's end before what the worker wrote last.
inline constexpr const char* kWorkerOutputIntro = "; it wrote: ";

struct WorkerEnd {
  FailureKind failure = FailureKind::worker_crash;
  std::string text;        // for people
  bool by_itself = false;  // it exited; false: a signal ended it
};

class WorkerPort {
 public:
  virtual ~WorkerPort() = default;  // kills what still runs
  // Sends without waiting for the worker.
  [[nodiscard]] virtual Status Send(const cluster::Envelope& envelope) = 0;
  // Returns the next message that has arrived, or nothing. Error: refused for a frame that does not decode; cancelled
  // once the worker closed its end.
  [[nodiscard]] virtual Result<std::optional<cluster::Envelope>> Receive() = 0;
  // Returns the end of the process once it has ended, and only once. Does not block.
  [[nodiscard]] virtual std::optional<WorkerEnd> Reap() = 0;
  virtual void Kill() = 0;
  // Bytes of memory that it has used at once; 0 = not known.
  [[nodiscard]] virtual std::int64_t PeakBytes() const { return 0; }
  [[nodiscard]] virtual int fd() = 0;  // readable when there is something to receive; -1 = none
};

// Starts a worker for the slot, whose first attempt is `start`. Error: environment, why it could not be
// started.
using WorkerSpawner = std::function<Result<std::unique_ptr<WorkerPort>>(int slot, const cluster::Start& start)>;

// Workers that are child processes of this agent.

struct WorkerLaunch {
  std::string program;                   // path of retort-worker
  std::string sleep_program;             // path of retort-sleeper, which starts faster; empty = there is none
  std::vector<std::string> environment;  // complete
  WorldRank rank;                        // its output goes to RESULTS/workers/rank<rank>-slot<slot>.log
  std::string nccl_host = {};            // of workers that share GPUs (MakeNcclEnvironment); empty: they share none
};

// What a worker needs so that several ranks of its gang may lie on one GPU. NCCL allows one rank of a host on a device,
// so each slot is another host to it, and they meet over sockets of the loopback interface, or of the one that
// `environment` names.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> MakeNcclEnvironment(
    const std::vector<std::string>& environment, const std::string& host, WorldRank rank, int slot);

// Returns what starts a worker for a slot. The text of a worker's end includes the last lines that it wrote.
[[nodiscard]] WorkerSpawner MakeProcessSpawner(WorkerLaunch launch);

}  // namespace retort::orchestrator
