// What the launcher (mpirun, srun) and the batch system say about this process through its environment variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::cluster {

struct LaunchEnvironment {
  bool under_mpi = false;   // an MPI launcher started this process: open an MpiWorld
  bool under_pmi = false;   // a launcher that speaks PMI did (MPICH's, Slurm's): MayJoinWorld says whether to
  int declared_ranks = 1;   // how many processes the launcher says it started; 0: no number
  std::string declared_by;  // the variable that says so; empty when none does
  bool later_rank = false;  // it says that this is not the first process, and not how many there are
  int local_rank = 0;       // among the ranks on this host
  int local_size = 1;
  bool own_devices = false;  // each rank was given devices of its own: those that it sees are not shared
  // Set by cluster/launch/mpirun.sh: world rank 0 writes the exit code of the whole run here (decimal,
  // newline); "<it>.ready" is created by OpenMpiWorld once signals may be sent. Empty: no wrapper.
  std::string exit_code_file;
  std::string mpi_library;  // RETORT_MPI_LIBRARY: the plug-in to load in place of the one beside the program
};

// Returns the value of NAME in "NAME=value" entries.
[[nodiscard]] std::optional<std::string> FindVariable(const std::vector<std::string>& environment,
                                                      std::string_view name);
[[nodiscard]] LaunchEnvironment ReadLaunchEnvironment(const std::vector<std::string>& environment);

// Error: environment, with the command to use, when the launcher started more processes than the world
// has: each would take itself for the only one and all would write to the same folder. Call with
// world_size 1 when no MPI world was opened.
[[nodiscard]] Status CheckWorldSize(const LaunchEnvironment& launch, int world_size);

// When the batch system takes the machine away.
struct AllocationEnd {
  double unix_seconds = 0;
  std::string named_by;  // the variable that says so
};

// Kept free between the end of the grace period and that of the allocation: to write the results, to end MPI.
inline constexpr double kClosingSeconds = 15;

// Reads RETORT_END_TIME, which the scripts in cluster/launch set where the batch system itself names no time, else
// SLURM_JOB_END_TIME: both in Unix seconds. Nothing outside an allocation and in one without a limit.
// Error: usage, for a RETORT_END_TIME that is no time.
[[nodiscard]] Result<std::optional<AllocationEnd>> FindAllocationEnd(const std::vector<std::string>& environment);

// Computes how long work may go on from `now` (Unix seconds) so that `grace_seconds` and kClosingSeconds are left;
// not above zero when they are not.
[[nodiscard]] double ComputeWorkSeconds(const AllocationEnd& end, double now, double grace_seconds);

}  // namespace retort::cluster
