// The agent of this process, with real worker processes, and a rank that is nothing but an agent.
#pragma once

#include <memory>
#include <string>

#include "cluster/channel.h"
#include "cluster/launch_environment.h"
#include "cluster/mpi_world.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "orchestrator/service/run_options.h"

namespace retort::orchestrator {

class Agent;

// Path of the worker program: as `options` say, else beside this program.
[[nodiscard]] std::string FindWorkerProgram(const RunOptions& options);
// Returns `options` with the devices restricted to those that this host's workers can use, and a notice of what is left
// out.
[[nodiscard]] RunOptions RestrictToUsableDevices(RunOptions options);

// Makes the agent of this rank. Its slots are the devices that fall to the rank. Error: environment, when the worker
// program is missing.
[[nodiscard]] Result<std::unique_ptr<Agent>> MakeAgent(const RunOptions& options, WorldRank rank);
// Runs a world rank other than 0 (environment.h: IsWorldRankZero): supervises workers until rank 0 sends Shutdown. It
// needs no plan.
[[nodiscard]] Result<int> RunAgentRank(const RunOptions& options);

// The MPI world of a run, where an MPI launcher started it, and its end.
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
