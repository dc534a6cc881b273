// The MPI world. MPI itself is in a library (mpi/retort_mpi.h) that is loaded only when a launcher started the process,
// so that `retort` also runs where no MPI is installed, and with any MPI whose mpicc compiled that library.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cluster/channel.h"
#include "cluster/launch_environment.h"
#include "experiments/base/status.h"

namespace retort::cluster {

// Between MPI_Init and MPI_Finalize. All calls from the thread that opened it.
class MpiWorld {
 public:
  virtual ~MpiWorld() = default;  // without Finalize before: leaves MPI as it is, and mpirun will complain
  // World rank, world size, messages. Lives as long as the world.
  [[nodiscard]] virtual Channel& channel() = 0;
  // Every rank must call it: sends what is queued, drops what still arrives, and ends MPI once all ranks
  // are here. Error: cancelled when some rank was not here within `wait` (MPI is not ended then: the
  // process should leave by Abort); environment when MPI fails.
  [[nodiscard]] virtual Status Finalize(std::chrono::milliseconds wait) = 0;
  // Ends the whole MPI job with this code.
  [[noreturn]] virtual void Abort(int exit_code) = 0;
};

// Returns the file of the plug-in: what RETORT_MPI_LIBRARY names, else libretort_mpi.so beside the running program.
[[nodiscard]] std::string FindMpiLibrary(const LaunchEnvironment& launch);

// Returns which MPI the plug-in in this file was compiled for, in MPI's words ("Open MPI v4.1.4, ..."). No MPI_Init.
// Error: environment when the library or its MPI cannot be loaded, or it has the interface of another version.
[[nodiscard]] Result<std::string> ReadMpiVersion(const std::string& library);

// Whether a launcher started this process as a rank of a world that the plug-in can join: Open MPI's launchers and
// PMIx any plug-in, those of PMI (MPICH's) one of another MPI than Open MPI, which does not speak it.
[[nodiscard]] bool MayJoinWorld(const LaunchEnvironment& launch);

// Loads the plug-in and calls MPI_Init; install signal handlers before. Creates
// "<launch.exit_code_file>.ready" on world rank 0. Error: environment when the plug-in or its MPI is
// missing or of another version, when MPI fails, or when the world is not the one the launcher declared;
// refused when this process has been in such a world before.
[[nodiscard]] Result<std::unique_ptr<MpiWorld>> OpenMpiWorld(const LaunchEnvironment& launch);

}  // namespace retort::cluster
