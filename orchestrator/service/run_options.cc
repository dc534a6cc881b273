#include "orchestrator/service/run_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cluster/host.h"
#include "experiments/base/json.h"
#include "orchestrator/process/environment.h"

namespace retort::orchestrator {

std::string ProvenanceJson(const RunOptions& options, int world_size, double work_ends) {
  nlohmann::ordered_json json;
  json["version"] = options.version;
  for (const auto& [name, value] : options.build_facts) json[name] = value;
  const cluster::HostTopology host = cluster::DiscoverHost(options.environment);
  json["host"] = host.host;
  json["machine"] = FindMachineKind(options.environment);
  json["processors"] = host.cpus;
  json["cuda_devices"] = host.cuda_devices;
  json["world_size"] = world_size;
  const auto own = cluster::AssignDevices(host, 0, 1, std::max(options.slots, 1));
  json["slots"] = host.cuda_devices > 0 ? static_cast<int>(own.size()) : world_size * static_cast<int>(own.size());
  if (!options.device_notice.empty()) json["device_notice"] = options.device_notice;
  if (work_ends > 0) json["work_ends"] = work_ends;
  return DumpJson(json);
}

}  // namespace retort::orchestrator
