// The MPI world of a run, where an MPI launcher started it, and its end.
#pragma once

#include <memory>
#include <string>

#include "cluster/channel.h"
#include "cluster/launch_environment.h"
#include "cluster/mpi_world.h"
#include "experiments/base/status.h"
#include "orchestrator/service/run_options.h"

namespace retort::orchestrator {

class MpiRun {
 public:
  // No world, and no cost, unless an MPI launcher started this process. Error: environment.
  [[nodiscard]] static Result<MpiRun> Open(const RunOptions& options);

  [[nodiscard]] cluster::Channel* channel() { return world_ ? &world_->channel() : nullptr; }
  // World rank 0 releases the other ranks and leaves `exit_code` for the launcher; every rank meets the
  // others and ends MPI. Ranks that do not come in time, or a second signal (130), end the MPI job.
  void Close(int exit_code);

 private:
  explicit MpiRun(cluster::LaunchEnvironment launch) : launch_(std::move(launch)) {}
  cluster::LaunchEnvironment launch_;
  std::unique_ptr<cluster::MpiWorld> world_;
};

// Writes the exit code to the file that the launcher script reads. Does nothing without one.
void WriteLauncherExitCode(const cluster::LaunchEnvironment& launch, int exit_code);

}  // namespace retort::orchestrator
