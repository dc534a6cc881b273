#include "orchestrator/local_agent.h"

#include <algorithm>
#include <utility>

#include "cluster/gpu_uuids.h"
#include "cluster/host_address.h"
#include "cluster/host_identity.h"
#include "cluster/host_memory.h"
#include "cluster/launch_environment.h"
#include "cluster/topology.h"
#include "cluster/worker_environment.h"
#include "cluster/worker_process.h"
#include "orchestrator/environment.h"
#include "orchestrator/packing.h"
#include "orchestrator/process_worker_port.h"
#include "orchestrator/system_clock.h"
#include "orchestrator/usable_devices.h"

namespace retort::orchestrator {
namespace {

// Of devices that are named "cuda:<ordinal>"; empty for the others.
std::vector<std::string> UuidsOf(const std::vector<std::string>& devices, const std::vector<std::string>& environment) {
  const std::vector<std::string> all = cluster::GpuUuids(environment);
  std::vector<std::string> uuids;
  for (const std::string& device : devices) {
    const auto is_it = [&device, n = 0](const std::string&) mutable { return device == "cuda:" + std::to_string(n++); };
    const auto found = std::ranges::find_if(all, is_it);
    uuids.push_back(found == all.end() ? "" : *found);
  }
  return uuids;
}

}  // namespace

std::string WorkerProgram(const RunOptions& options) {
  return options.worker_program.empty() ? ProgramDirectory() + "/retort-worker" : options.worker_program;
}

RunOptions OnUsableDevices(RunOptions options) {
  UsableDevices usable =
      FindUsableDevices(options.environment, WorkerProgram(options), DeviceProbe::run, options.device_directory);
  options.environment = std::move(usable.environment);
  options.device_notice = std::move(usable.notice);
  return options;
}

Result<std::unique_ptr<Agent>> MakeAgent(const RunOptions& options, WorldRank rank) {
  WorkerLaunch launch;
  launch.program = WorkerProgram(options);
  RETORT_RETURN_IF_ERROR(cluster::CheckWorkerProgram(launch.program));
  const std::string sleeper = ProgramDirectory() + "/retort-sleeper";
  if (options.worker_program.empty() && cluster::CheckWorkerProgram(sleeper).ok())
    launch.sleep_program = sleeper;
  launch.environment = cluster::WorkerEnvironment(options.environment, {});
  launch.rank = rank;
  const cluster::LaunchEnvironment ranks = cluster::ReadLaunchEnvironment(options.environment);
  AgentIdentity identity;
  identity.host = HostName();
  identity.host_identity = cluster::HostIdentity();
  identity.build = options.version;
  identity.seats_per_slot = kMostPerSlot;
  identity.memory_available = [] { return cluster::AvailableMemory(); };
  RETORT_ASSIGN_OR_RETURN(identity.address, cluster::HostAddress(options.environment));
  identity.devices =
      cluster::DevicesOf(cluster::DiscoverHost(options.environment), ranks.own_devices ? 0 : ranks.local_rank,
                         ranks.own_devices ? 1 : ranks.local_size, options.slots);
  identity.device_uuids = UuidsOf(identity.devices, options.environment);
  return std::make_unique<Agent>(std::move(identity), SpawnProcesses(std::move(launch)),
                                 ReadClocks().monotonic);
}

}  // namespace retort::orchestrator
