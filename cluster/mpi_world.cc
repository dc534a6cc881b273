#include "cluster/mpi_world.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace retort::cluster {
namespace {

constexpr const char* kLibraryName = "libretort_mpi.so";

std::string LoaderError() {
  const char* const text = ::dlerror();
  return text != nullptr ? text : "no reason given";
}

// Tells the wrapper script that every rank has its signal handlers. A script on another host cannot
// see the file, and waits a fixed time instead: failing to write it is no error.
void MarkReady(const LaunchEnvironment& launch) {
  if (launch.exit_code_file.empty()) return;
  const int file =
      ::open((launch.exit_code_file + ".ready").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file >= 0) ::close(file);
}

}  // namespace

std::string DefaultMpiLibrary() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string(kLibraryName) : (program.parent_path() / kLibraryName).string();
}

Result<std::unique_ptr<MpiWorld>> OpenMpiWorld(const LaunchEnvironment& launch, const std::string& library) {
  // The library stays loaded: MPI leaves threads and exit handlers behind. Its symbols are global, as
  // Open MPI's own components expect.
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    return EnvironmentError("This process was started by an MPI launcher, but " + library +
                            " cannot be loaded: " + LoaderError() +
                            ". Install Open MPI (openmpi-bin) and build with RETORT_BUILD_MPI=ON, or "
                            "run retort without mpirun.");
  }
  const auto revision = reinterpret_cast<MpiRevisionFunction>(::dlsym(handle, kMpiRevisionSymbol));
  const auto open = reinterpret_cast<MpiOpenFunction>(::dlsym(handle, kMpiOpenSymbol));
  if (revision == nullptr || open == nullptr || revision() != kMpiLibraryRevision) {
    return EnvironmentError(library + " belongs to another build of Retort. Build both again.");
  }
  OpenedMpiWorld opened;
  open(&launch, &opened);
  RETORT_RETURN_IF_ERROR(opened.status);
  std::unique_ptr<MpiWorld> world(opened.world);
  if (world->channel().rank() == WorldRank{0}) MarkReady(launch);
  return world;
}

}  // namespace retort::cluster
