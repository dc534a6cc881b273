#include "orchestrator/service/agent_rank.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "cluster/host.h"
#include "cluster/launch_environment.h"
#include "cluster/waiting.h"
#include "cluster/worker_process.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/agent/worker_port.h"
#include "orchestrator/core/packing.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/process/open_files.h"
#include "orchestrator/process/stop_signals.h"
#include "orchestrator/process/system_clock.h"
#include "storage/files/env.h"

namespace retort::orchestrator {
namespace {

// Returns the UUIDs of devices that are named "cuda:<ordinal>"; empty for other devices.
std::vector<std::string> FindUuids(const std::vector<std::string>& devices,
                                   const std::vector<std::string>& environment) {
  const std::vector<std::string> all = cluster::FindGpuUuids(environment);
  std::vector<std::string> uuids;
  for (const std::string& device : devices) {
    const auto is_it = [&device, n = 0](const std::string&) mutable { return device == "cuda:" + std::to_string(n++); };
    const auto found = std::ranges::find_if(all, is_it);
    uuids.push_back(found == all.end() ? "" : *found);
  }
  return uuids;
}

}  // namespace

std::string FindWorkerProgram(const RunOptions& options) {
  return options.worker_program.empty() ? GetProgramDirectory() + "/retort-worker" : options.worker_program;
}

RunOptions RestrictToUsableDevices(RunOptions options) {
  UsableDevices usable =
      FindUsableDevices(options.environment, FindWorkerProgram(options), DeviceProbe::run, options.device_directory);
  options.environment = std::move(usable.environment);
  options.device_notice = std::move(usable.notice);
  return options;
}

Result<std::unique_ptr<Agent>> MakeAgent(const RunOptions& options, WorldRank rank) {
  WorkerLaunch launch;
  launch.program = FindWorkerProgram(options);
  RETORT_RETURN_IF_ERROR(cluster::CheckWorkerProgram(launch.program));
  const std::string sleeper = GetProgramDirectory() + "/retort-sleeper";
  if (options.worker_program.empty() && cluster::CheckWorkerProgram(sleeper).ok()) launch.sleep_program = sleeper;
  launch.environment = cluster::MakeWorkerEnvironment(options.environment, {});
  launch.rank = rank;
  const cluster::HostTopology host = cluster::DiscoverHost(options.environment, options.device_directory);
  if (options.oversubscribe_gpu > 1) {
    if (host.cuda_devices == 0)
      return EnvironmentError("--oversubscribe-gpu puts several workers on a GPU, and " + host.host +
                              " has none that can be used: `retort doctor` says why. On CPUs use --slots.");
    launch.nccl_host = host.host;
  }
  const cluster::LaunchEnvironment ranks = cluster::ReadLaunchEnvironment(options.environment);
  AgentIdentity identity;
  identity.host = GetHostName();
  identity.host_identity = cluster::ReadHostIdentity();
  identity.build = options.version;
  identity.seats_per_slot = kMaxTrialsPerSlot;
  identity.memory_available = [] { return cluster::ReadAvailableMemory(); };
  RETORT_ASSIGN_OR_RETURN(identity.address, cluster::FindHostAddress(options.environment));
  identity.devices =
      cluster::AssignDevices(host, ranks.own_devices ? 0 : ranks.local_rank, ranks.own_devices ? 1 : ranks.local_size,
                             options.slots, options.oversubscribe_gpu);
  identity.device_uuids = FindUuids(identity.devices, options.environment);
  return std::make_unique<Agent>(std::move(identity), MakeProcessSpawner(std::move(launch)), ReadClocks().monotonic);
}

namespace {

using Milliseconds = std::chrono::milliseconds;

class AgentLoop {
 public:
  AgentLoop(Agent& agent, cluster::Channel& channel, StopSignals& signals, double grace_seconds)
      : agent_(agent), channel_(channel), signals_(signals), grace_seconds_(grace_seconds) {}

  // Runs until Shutdown or a second signal. Error: environment, when MPI fails.
  Status Run() {
    while (!agent_.shut_down() && !signals_.at_once()) {
      const double now = ReadClocks().monotonic;
      RETORT_RETURN_IF_ERROR(Receive(now));
      HandleSignals(now);
      agent_.Poll(now);
      RETORT_RETURN_IF_ERROR(SendOutgoing());
      if (!agent_.shut_down()) Wait(now);
    }
    agent_.KillAll();
    return {};
  }

 private:
  Status Receive(double now) {
    for (;;) {
      Result<std::optional<std::pair<WorldRank, cluster::Envelope>>> received = channel_.Receive();
      if (received.ok() && !received->has_value()) return {};
      if (received.ok()) {
        agent_.OnMessage((*received)->second, now);
        idle_.Reset();
      } else if (received.status().code() != StatusCode::refused) {
        return received.status();
      }
    }
  }

  // A signal to this rank stops the whole sweep, which the orchestrator decides.
  void HandleSignals(double now) {
    signals_.Read(now);
    if (!signals_.stop() || told_) return;
    told_ = true;
    drain_ = true;
  }

  Status SendOutgoing() {
    for (const cluster::Envelope& envelope : agent_.TakeOutgoing())
      RETORT_RETURN_IF_ERROR(channel_.Send(WorldRank{0}, envelope));
    if (!drain_) return {};
    drain_ = false;
    return channel_.Send(WorldRank{0}, {{}, {}, 0, cluster::Drain{true, grace_seconds_}});
  }

  void Wait(double now) {
    std::vector<int> fds = agent_.ReadableFds();
    fds.push_back(signals_.fd());
    const double seconds = std::clamp(agent_.NextDeadline() - now, 0.0, 1.0);
    idle_.Wait(fds, Milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000))));
  }

  Agent& agent_;
  cluster::Channel& channel_;
  StopSignals& signals_;
  double grace_seconds_;
  cluster::IdleWait idle_{Milliseconds(1), Milliseconds(20)};
  bool told_ = false;
  bool drain_ = false;
};

}  // namespace

Result<int> RunAgentRank(const RunOptions& asked) {
  RaiseOpenFileLimit();
  const RunOptions options = RestrictToUsableDevices(asked);
  RETORT_ASSIGN_OR_RETURN(StopSignals signals, StopSignals::Open());
  RETORT_ASSIGN_OR_RETURN(MpiRun mpi, MpiRun::Open(options));
  if (mpi.channel() == nullptr)
    return EnvironmentError("an agent without an orchestrator: it was not started by mpirun");
  // World rank 0 prints the notice for its own host.
  if (!options.device_notice.empty() && cluster::ReadLaunchEnvironment(options.environment).local_rank == 0)
    std::fprintf(stderr, "%s: %s\n", GetHostName().c_str(), options.device_notice.c_str());
  Result<std::unique_ptr<Agent>> agent = MakeAgent(options, mpi.channel()->rank());
  Status status = agent.status();
  if (agent.ok()) status = AgentLoop(**agent, *mpi.channel(), signals, options.grace_seconds).Run();
  mpi.Close(signals.at_once() ? 130 : 0);
  if (!status.ok()) return status;
  return 0;
}

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
  if (!cluster::MayJoinWorld(run.launch_)) {
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
  world_->Abort(exit_code == 0 ? GetExitCode(StatusCode::environment) : exit_code);
}

}  // namespace retort::orchestrator
