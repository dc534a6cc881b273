// One worker process, as much of it as the agent uses. Implementations: a child process
// (process_worker_port.h), fakes in tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/envelope.h"
#include "experiments/spec/failure_kind.h"
#include "experiments/spec/status.h"

namespace retort::orchestrator {

// In what is said of a worker's end: here begin its own last words.
inline constexpr const char* kItWrote = "; it wrote: ";

struct WorkerEnd {
  FailureKind failure = FailureKind::worker_crash;
  std::string text;        // for people
  bool by_itself = false;  // it exited; false: a signal ended it
};

class WorkerPort {
 public:
  virtual ~WorkerPort() = default;  // kills what still runs
  // Never waits for the worker.
  [[nodiscard]] virtual Status Send(const cluster::Envelope& envelope) = 0;
  // What has arrived, or nothing. Error: refused for a frame that does not decode; cancelled once the
  // worker closed its end.
  [[nodiscard]] virtual Result<std::optional<cluster::Envelope>> Receive() = 0;
  // The end of the process, once. Does not block.
  [[nodiscard]] virtual std::optional<WorkerEnd> Reap() = 0;
  virtual void Kill() = 0;
  // Bytes of memory that it has used at once; 0 = not known.
  [[nodiscard]] virtual std::int64_t PeakBytes() const { return 0; }
  [[nodiscard]] virtual int fd() = 0;  // readable when there is something to receive; -1 = none
};

// Starts a worker for the slot, whose first attempt is `start`. Error: environment, why it could not be
// started.
using WorkerSpawner =
    std::function<Result<std::unique_ptr<WorkerPort>>(int slot, const cluster::Start& start)>;

}  // namespace retort::orchestrator
