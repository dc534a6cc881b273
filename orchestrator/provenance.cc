#include "orchestrator/provenance.h"

#include <nlohmann/json.hpp>

#include "cluster/topology.h"

namespace retort::orchestrator {

std::string ProvenanceJson(const RunOptions& options, int world_size) {
  nlohmann::ordered_json json;
  json["version"] = options.version;
  for (const auto& [name, value] : options.build_facts) json[name] = value;
  const cluster::HostTopology host = cluster::DiscoverHost(options.environment);
  json["host"] = host.host;
  json["processors"] = host.cpus;
  json["cuda_devices"] = host.cuda_devices;
  json["world_size"] = world_size;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace retort::orchestrator
