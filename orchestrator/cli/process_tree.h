// The processes below this one, as the kernel knows them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace retort::orchestrator::cli {

struct LiveProcess {
  pid_t pid = 0;
  char state = '?';  // as ps shows it: R, S, D (waits for a disk), T (stopped)
  std::string name;  // of the program, at most 15 characters
};

// Children of this process and theirs, that have not ended, by pid. Orphans of theirs too, if AdoptOrphans
// was called before.
[[nodiscard]] std::vector<LiveProcess> Descendants();

// From now on processes below this one whose parent ends become children of this one, for its rest.
void AdoptOrphans();

}  // namespace retort::orchestrator::cli
