#include "orchestrator/service/mpi_run.h"

#include <chrono>
#include <cstdio>
#include <utility>

#include "storage/files/env.h"

namespace retort::orchestrator {
namespace {

constexpr auto kMeetingWait = std::chrono::milliseconds(10'000);

}  // namespace

void WriteLauncherExitCode(const cluster::LaunchEnvironment& launch, int exit_code) {
  if (launch.exit_code_file.empty()) return;
  const Status written =
      storage::PosixEnv().WriteFileAtomically(launch.exit_code_file, std::to_string(exit_code) + "\n");
  if (!written.ok()) std::fprintf(stderr, "%s\n", written.message().c_str());
}

Result<MpiRun> MpiRun::Open(const RunOptions& options) {
  MpiRun run(cluster::ReadLaunchEnvironment(options.environment));
  if (!run.launch_.under_mpi) {
    RETORT_RETURN_IF_ERROR(cluster::CheckWorldSize(run.launch_, 1));
    return run;
  }
  RETORT_ASSIGN_OR_RETURN(run.world_, cluster::OpenMpiWorld(run.launch_));
  return run;
}

void MpiRun::Close(int exit_code) {
  if (!world_) return;
  cluster::Channel& channel = world_->channel();
  if (channel.rank() == WorldRank{0}) {
    WriteLauncherExitCode(launch_, exit_code);
    // The sweep may have sent Shutdown already; a second one does no harm.
    for (int rank = 1; rank < channel.size(); ++rank)
      if (!channel.Send(WorldRank{rank}, {{}, {}, 0, cluster::Shutdown{}}).ok()) break;
  }
  if (exit_code == 130) world_->Abort(exit_code);
  const Status met = world_->Finalize(kMeetingWait);
  if (met.ok()) return;
  std::fprintf(stderr, "%s\n", met.message().c_str());
  world_->Abort(exit_code == 0 ? ExitCode(StatusCode::environment) : exit_code);
}

}  // namespace retort::orchestrator
