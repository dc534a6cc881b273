// Starts, watches and kills the processes of a disturbed run, descendants included.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"

namespace retort::orchestrator::cli {

struct LiveProcess {
  pid_t pid = 0;
  char state = '?';  // as ps shows it: R, S, D (waits for a disk), T (stopped)
  std::string name;  // of the program, at most 15 characters
};

// Children of this process and theirs, that have not ended, by pid. Orphans of theirs too, if AdoptOrphans
// was called before.
[[nodiscard]] std::vector<LiveProcess> ListDescendants();

// From now on processes below this one whose parent ends become children of this one, for its rest.
void AdoptOrphans();

// One run of the sweep as a child process, for `retort chaos`.

struct RunOrder {
  std::vector<std::string> words;        // program first, found as execvp does
  std::vector<std::string> environment;  // complete
  std::string log;                       // stdout and stderr are appended here
  std::uint64_t largest_file = 0;        // bytes that it may write to one file (RLIMIT_FSIZE); 0 = no limit
};

// Ends with this process. Not thread-safe; one at a time, since it reaps every child of this process.
class ChaosProcess {
 public:
  ChaosProcess() = default;
  // Error: environment, when no process can be made. A program that cannot be run ends with 127.
  [[nodiscard]] static Result<ChaosProcess> Start(const RunOrder& command);

  // The exit code, once it has ended (128 + signal for one that was killed). Does not block.
  [[nodiscard]] std::optional<int> Poll();
  // Waits, at most `seconds`.
  [[nodiscard]] std::optional<int> Wait(double seconds);

 private:
  explicit ChaosProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;
  std::optional<int> code_;
};

// SIGKILLs everything below this process and waits until nothing is left, at most `seconds`. Returns whether
// nothing is.
bool KillDescendants(double seconds);
// Waits until nothing is left below this process, at most `seconds`.
[[nodiscard]] bool WaitForNobody(double seconds);

}  // namespace retort::orchestrator::cli
