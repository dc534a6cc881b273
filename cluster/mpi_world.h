// The MPI world without MPI's header: a library that is loaded only when an MPI launcher started the
// process, so that `retort` also runs where no MPI is installed.
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

// Returns the library's file beside the running program.
[[nodiscard]] std::string DefaultMpiLibrary();

// Loads the library and calls MPI_Init; install signal handlers before. Creates
// "<launch.exit_code_file>.ready" on world rank 0. Error: environment when the library or Open MPI is
// missing or of another build, when MPI fails, or when the world is not the one the launcher declared;
// refused when this process has been in such a world before.
[[nodiscard]] Result<std::unique_ptr<MpiWorld>> OpenMpiWorld(const LaunchEnvironment& launch,
                                                             const std::string& library = DefaultMpiLibrary());

// Raised when MpiWorld, Channel or Envelope change their layout.
inline constexpr int kMpiLibraryRevision = 1;
inline constexpr const char* kMpiRevisionSymbol = "retort_mpi_revision";
inline constexpr const char* kMpiOpenSymbol = "retort_mpi_open";

// What retort_mpi_open returns: the world, owned by the caller, or the reason there is none.
struct OpenedMpiWorld {
  MpiWorld* world = nullptr;
  Status status;
};

using MpiRevisionFunction = int (*)();
// `result` is filled in; nothing is thrown.
using MpiOpenFunction = void (*)(const LaunchEnvironment* launch, OpenedMpiWorld* result);

}  // namespace retort::cluster
