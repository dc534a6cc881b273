// A worker that is a child process of this agent.
#pragma once

#include <string>
#include <vector>

#include "orchestrator/worker_port.h"

namespace retort::orchestrator {

struct WorkerLaunch {
  std::string program;                   // path of retort-worker
  std::string sleep_program;             // of retort-sleeper, which starts faster; empty = do without
  std::vector<std::string> environment;  // complete
  WorldRank rank;                        // its output goes to RESULTS/workers/rank<rank>-slot<slot>.log
};

// The last lines a dead worker wrote are part of the text of its end.
[[nodiscard]] WorkerSpawner SpawnProcesses(WorkerLaunch launch);

}  // namespace retort::orchestrator
