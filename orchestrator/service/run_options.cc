#include "orchestrator/service/run_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cluster/host.h"
#include "experiments/base/json.h"
#include "orchestrator/process/environment.h"

namespace retort::orchestrator {

std::string FormatProvenanceJson(const RunOptions& options, int world_size, double work_ends) {
  nlohmann::ordered_json json;
  json["version"] = options.version;
  for (const auto& [name, value] : options.build_facts) json[name] = value;
  const cluster::HostTopology host = cluster::DiscoverHost(options.environment, options.device_directory);
  json["host"] = host.host;
  // Times of workers that share a GPU are no times of that machine.
  const bool oversubscribed = options.oversubscribe_gpu > 1;
  json["machine"] = FindMachineKind(options.environment) +
                    (oversubscribed ? " shared by " + std::to_string(options.oversubscribe_gpu) : "");
  json["processors"] = host.cpus;
  json["cuda_devices"] = host.cuda_devices;
  json["world_size"] = world_size;
  const auto own = cluster::AssignDevices(host, 0, 1, std::max(options.slots, 1), options.oversubscribe_gpu);
  json["slots"] = host.cuda_devices > 0 ? static_cast<int>(own.size()) : world_size * static_cast<int>(own.size());
  if (oversubscribed) json["oversubscribe_gpu"] = options.oversubscribe_gpu;
  if (!options.device_notice.empty()) json["device_notice"] = options.device_notice;
  if (work_ends > 0) json["work_ends"] = work_ends;
  return DumpJson(json);
}

}  // namespace retort::orchestrator
