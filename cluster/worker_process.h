// A worker process as its agent sees it (start, talk, notice its end, end it), and the worker's side of its end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/socket_link.h"
#include "experiments/base/failure_kind.h"
#include "experiments/base/status.h"

namespace retort::cluster {

struct WorkerCommand {
  std::string program;                   // path of the worker program
  std::vector<std::string> arguments;    // without argv[0]
  std::vector<std::string> environment;  // "NAME=value", complete: see MakeWorkerEnvironment
  std::string log_path;                  // stdout and stderr are appended here; empty: both go to the agent's stderr
};

struct ExitReport {
  bool signalled = false;  // ended by a signal
  int value = 0;           // the signal's number, or the exit code
  FailureKind failure = FailureKind::worker_crash;
  std::string text;  // for people: "worker 4711 was killed by SIGSEGV (segmentation fault)"
};

// The process leads a process group of its own, has descriptors 0-2 and kWorkerSocket only, default
// signal dispositions and an empty signal mask. It is expected to call DieWithParent,
// which ends it with the *thread* that spawned it: spawn from a thread that lives as long as the agent.
// Not thread-safe.
class WorkerProcess {
 public:
  WorkerProcess() = default;  // nothing spawned; every call below is harmless
  // Error: environment when the program is missing or not executable (names the path) or the system
  // has no room for another process.
  [[nodiscard]] static Result<WorkerProcess> Spawn(const WorkerCommand& command);
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  ~WorkerProcess();  // kills what still runs and reaps it

  [[nodiscard]] SocketLink& link() { return link_; }
  [[nodiscard]] pid_t pid() const { return pid_; }       // -1 when nothing is spawned, or reaped
  [[nodiscard]] bool alive() const { return pid_ > 0; }  // spawned and not yet reaped

  // Returns the end of the process, once; nothing while it runs, and after it was returned. Never blocks. Processes
  // that the worker left in its group are killed. What the worker sent before its end can still be
  // received from link().
  [[nodiscard]] std::optional<ExitReport> Reap();
  // SIGKILL to the worker's process group. Reap tells when it has taken effect.
  void Kill();

 private:
  WorkerProcess(pid_t pid, SocketLink link);
  void KillGroup() const;
  void CheckOomKills();
  void End() noexcept;

  pid_t pid_ = -1;
  bool killed_ = false;  // by Kill
  // Processes that the kernel had killed for memory a second or two ago, and the time of the last check.
  std::uint64_t oom_kills_before_ = 0, oom_kills_ = 0;
  std::chrono::steady_clock::time_point checked_at_{};
  SocketLink link_;
};

// Error: environment, naming the path and what to build, when no executable file is there.
[[nodiscard]] Status CheckWorkerProgram(const std::string& program);

// Whether a process with this variable would take itself for an MPI rank or a Slurm task.
[[nodiscard]] bool IsLauncherVariable(std::string_view name);

// `inherited` ("NAME=value" entries) without launcher variables, with `overrides` (name, value) put in
// place of equal names or appended: thread counts, device masks. With TORCH_DIR, the folder of a torch package, its
// libraries come first in LD_LIBRARY_PATH: a worker that has no LibTorch beside it finds that one. How long OpenMP
// threads spin is chosen where nothing in `inherited` does.
[[nodiscard]] std::vector<std::string> MakeWorkerEnvironment(
    const std::vector<std::string>& inherited, const std::vector<std::pair<std::string, std::string>>& overrides);

// Asks the kernel to SIGKILL this process when the thread that spawned it ends, and checks that the
// agent (who made the socketpair of `socket_fd`) is still the parent. Call first thing in main.
// Error: cancelled when the agent is already gone; environment when this is no socket of an agent.
[[nodiscard]] Status DieWithParent(int socket_fd);

// Takes the pages now that the calling thread's stack may need. Where no memory is left later, an allocation then
// fails, which the worker reports; a stack that cannot grow ends the process by a signal. Call once in main.
void ReserveStack();

}  // namespace retort::cluster
