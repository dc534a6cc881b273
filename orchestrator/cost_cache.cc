#include "orchestrator/cost_cache.h"

#include <filesystem>
#include <utility>

#include "orchestrator/cost_codec.h"
#include "orchestrator/environment.h"
#include "storage/presence.h"

namespace retort::orchestrator {
namespace {

// Nothing known when the file is not there.
Result<MachineCosts> ReadCosts(storage::Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, path));
  if (!there) return MachineCosts();
  RETORT_ASSIGN_OR_RETURN(const std::string text, env.ReadFile(path));
  return DecodeCosts(text);
}

}  // namespace

CostCache OpenCostCache(storage::Env& env, const std::vector<std::string>& environment) {
  CostCache cache;
  cache.machine = MachineKind(environment);
  const std::string directory = CacheDirectory(environment);
  if (directory.empty()) return cache;
  cache.path = directory + "/costs.json";
  Result<MachineCosts> known = ReadCosts(env, cache.path);
  if (known.ok())
    cache.costs = std::move((*known)[cache.machine]);
  else
    cache.warning = cache.path + " is left out of estimates: " + known.status().message() +
                    "; it is written anew when a trial ends, and may be deleted";
  return cache;
}

Status SaveCosts(storage::Env& env, const CostCache& cache, const CostModel& costs) {
  if (cache.path.empty() || costs.samples().empty()) return {};
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(std::filesystem::path(cache.path).parent_path().string()));
  const auto lock = env.Lock(cache.path + ".lock");
  if (!lock.ok()) return {};
  Result<MachineCosts> known = ReadCosts(env, cache.path);
  MachineCosts all = known.ok() ? *std::move(known) : MachineCosts();
  all[cache.machine].Merge(costs);
  return env.WriteFileAtomically(cache.path, EncodeCosts(all));
}

}  // namespace retort::orchestrator
