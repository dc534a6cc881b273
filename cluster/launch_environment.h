// What the launcher (mpirun, srun) says about this process through its environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/status.h"

namespace retort::cluster {

struct LaunchEnvironment {
  bool under_mpi = false;   // an MPI launcher started this process: open an MpiWorld
  int declared_ranks = 1;   // how many processes the launcher says it started; 0: no number
  std::string declared_by;  // the variable that says so; empty when none does
  bool later_rank = false;  // it says that this is not the first process, and not how many there are
  int local_rank = 0;       // among the ranks on this host
  int local_size = 1;
  bool own_devices = false;  // each rank was given devices of its own: those that it sees are not shared
  // Set by cluster/launch/mpirun.sh: world rank 0 writes the exit code of the whole run here (decimal,
  // newline); "<it>.ready" is created by OpenMpiWorld once signals may be sent. Empty: no wrapper.
  std::string exit_code_file;
};

// The value of NAME in "NAME=value" entries.
[[nodiscard]] std::optional<std::string> FindVariable(const std::vector<std::string>& environment,
                                                      std::string_view name);
[[nodiscard]] LaunchEnvironment ReadLaunchEnvironment(const std::vector<std::string>& environment);
[[nodiscard]] inline bool StartedUnderMpi(const LaunchEnvironment& launch) { return launch.under_mpi; }

// Error: environment, with the command to use, when the launcher started more processes than the world
// has: each would take itself for the only one and all would write to the same folder. Call with
// world_size 1 when no MPI world was opened.
[[nodiscard]] Status CheckWorldSize(const LaunchEnvironment& launch, int world_size);

}  // namespace retort::cluster
