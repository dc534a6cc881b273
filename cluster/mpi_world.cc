#include "cluster/mpi_world.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "cluster/mpi_channel.h"

namespace retort::cluster {
namespace {

constexpr const char* kLibraryName = "libretort_mpi.so";
constexpr const char* kCompile =
    "compile it with the mpicc of the MPI that is used here (README.md in cluster/mpi, of an installed retort in "
    "share/retort/mpi)";

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

// The library stays loaded: MPI leaves threads and exit handlers behind.
Result<const RetortMpi*> LoadMpi(const std::string& library) {
  // Its symbols are global, as Open MPI's own components expect.
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr)
    return EnvironmentError(library + " cannot be loaded: " + LoaderError() +
                            ". Install the MPI that it was compiled for (Open MPI is Debian's openmpi-bin), or " +
                            kCompile + ".");
  const auto* const mpi = static_cast<const RetortMpi*>(::dlsym(handle, RETORT_MPI_SYMBOL));
  if (mpi == nullptr)
    return EnvironmentError(library + " is no plug-in of this version of retort: it has no symbol " RETORT_MPI_SYMBOL +
                            std::string("; ") + kCompile + ".");
  if (mpi->interface != RETORT_MPI_INTERFACE)
    return EnvironmentError(library + " has interface " + std::to_string(mpi->interface) + ", and this retort needs " +
                            std::to_string(RETORT_MPI_INTERFACE) + "; " + kCompile + ".");
  return mpi;
}

class OpenedWorld final : public MpiWorld {
 public:
  OpenedWorld(const RetortMpi& mpi, int rank, int size) : mpi_(mpi), channel_(mpi, rank, size) {}

  [[nodiscard]] Channel& channel() override { return channel_; }

  // MPI_Finalize waits for the other ranks at full speed, so everybody meets in a barrier that is polled
  // first. A rank enters it once its own sends have left: after it no message is on the way.
  [[nodiscard]] Status Finalize(std::chrono::milliseconds wait) override {
    const auto until = std::chrono::steady_clock::now() + wait;
    void* barrier = nullptr;
    for (int done = 0; done == 0;) {
      RETORT_RETURN_IF_ERROR(channel_.CompleteSends());
      RETORT_RETURN_IF_ERROR(channel_.Discard());
      if (barrier == nullptr && !channel_.has_pending_sends())
        RETORT_RETURN_IF_ERROR(MakeMpiStatus(mpi_, mpi_.enter_barrier(&barrier), "MPI_Ibarrier"));
      if (barrier != nullptr) RETORT_RETURN_IF_ERROR(MakeMpiStatus(mpi_, mpi_.test(barrier, &done), "MPI_Ibarrier"));
      if (done != 0) break;
      if (std::chrono::steady_clock::now() >= until)
        return Cancelled("Not every rank came to the end of the run within " + std::to_string(wait.count()) + " ms.");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    RETORT_RETURN_IF_ERROR(channel_.Discard());
    return MakeMpiStatus(mpi_, mpi_.finalize(), "MPI_Finalize");
  }

  [[noreturn]] void Abort(int exit_code) override {
    mpi_.abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  const RetortMpi& mpi_;
  MpiChannel channel_;
};

}  // namespace

std::string FindMpiLibrary(const LaunchEnvironment& launch) {
  if (!launch.mpi_library.empty()) return launch.mpi_library;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string(kLibraryName) : (program.parent_path() / kLibraryName).string();
}

Result<std::string> ReadMpiVersion(const std::string& library) {
  RETORT_ASSIGN_OR_RETURN(const RetortMpi* mpi, LoadMpi(library));
  std::array<char, 1024> text{};
  mpi->describe(text.data(), text.size());
  return std::string(text.data());
}

bool MayJoinWorld(const LaunchEnvironment& launch) {
  if (launch.under_mpi || !launch.under_pmi) return launch.under_mpi;
  const Result<std::string> version = ReadMpiVersion(FindMpiLibrary(launch));
  return version.ok() && version->find("Open MPI") == std::string::npos;
}

// MPI can be initialised only once in a process: a second call returns the error of a world that was too small again.
Result<std::unique_ptr<MpiWorld>> OpenMpiWorld(const LaunchEnvironment& launch) {
  static Status too_small;
  if (!too_small.ok()) return too_small;
  const Result<const RetortMpi*> loaded = LoadMpi(FindMpiLibrary(launch));
  if (!loaded.ok())
    return EnvironmentError("This process was started by an MPI launcher, but " + loaded.status().message() +
                            " Or run retort without mpirun.");
  const RetortMpi& mpi = **loaded;
  int rank = 0, size = 1;
  const int code = mpi.open(&rank, &size);
  if (code == RETORT_MPI_TWICE) return Refused("MPI was already initialised in this process.");
  RETORT_RETURN_IF_ERROR(MakeMpiStatus(mpi, code, "MPI_Init"));
  if (const Status declared = CheckWorldSize(launch, size); !declared.ok()) {
    static_cast<void>(mpi.finalize());
    too_small = declared;
    return declared;
  }
  auto world = std::make_unique<OpenedWorld>(mpi, rank, size);
  if (rank == 0) MarkReady(launch);
  return std::unique_ptr<MpiWorld>(std::move(world));
}

}  // namespace retort::cluster
