// Whether several ranks can start, and whether this process is one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/launch_environment.h"
#include "orchestrator/doctor/finding.h"
#include "orchestrator/doctor/program_run.h"

namespace retort::orchestrator::doctor {

struct MpiFacts {
  bool built = true;                 // with MPI
  std::string library_trouble;       // why libretort_mpi.so cannot be loaded; empty when it can
  std::string library_version;       // of the MPI that it is linked with: "Open MPI v4.1.4, package: …"
  std::string mpirun;                // path; empty when there is none
  std::string named;                 // RETORT_MPIRUN
  bool root = false;                 // mpirun refuses root unless it is told that this is meant
  ProgramRun version;                // mpirun --version
  ProgramRun plain;                  // two ranks of `true`, as mpirun does it by itself
  std::optional<ProgramRun> helped;  // the same with --oversubscribe, where that failed
  bool asked = false;                // `plain` was run
  cluster::LaunchEnvironment launch;
  int allotted = 1;            // tasks that the allocation is for (SLURM_NTASKS)
  bool several_nodes = false;  // the allocation has more than one
};

// Starts mpirun up to three times: at most 7.5 s in all.
[[nodiscard]] MpiFacts LookAtMpi(const std::vector<std::string>& environment, bool built);

// "4.1" out of "mpirun (Open MPI) 4.1.4" or "Open MPI v4.1.4, package: …"; empty when there is none.
[[nodiscard]] std::string SeriesOf(const std::string& version);

// Of the library beside this program. Nothing for a build without MPI.
[[nodiscard]] std::optional<Finding> JudgeMpiLibrary(const MpiFacts& facts);
[[nodiscard]] Finding JudgeMpirun(const MpiFacts& facts);
// N processes that each take themselves for the only one, and an allocation of which one process uses a part.
[[nodiscard]] std::optional<Finding> JudgeRanks(const MpiFacts& facts);

}  // namespace retort::orchestrator::doctor
