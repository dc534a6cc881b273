#include "cluster/worker_environment.h"

#include <algorithm>
#include <array>

namespace retort::cluster {
namespace {

std::string_view NameIn(std::string_view entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

bool BelongsToLauncher(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kPrefixes = {
      "OMPI_", "PMIX_", "ORTE_", "OPAL_", "PRTE_", "PMI_", "PMI2_", "HYDRA_", "SLURM_STEP", "SLURM_SRUN"};
  static constexpr std::array<std::string_view, 10> kNames = {
      "SLURM_PROCID", "SLURM_LOCALID",  "SLURM_NODEID", "SLURM_TASK_PID",       "SLURM_NTASKS",
      "SLURM_NPROCS", "SLURM_MPI_TYPE", "SLURM_GTIDS",  "SLURM_TASKS_PER_NODE", "RETORT_EXIT_CODE_FILE"};
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); }) ||
         std::ranges::find(kNames, name) != kNames.end();
}

std::vector<std::string> WorkerEnvironment(
    const std::vector<std::string>& inherited,
    const std::vector<std::pair<std::string, std::string>>& overrides) {
  const auto overridden = [&](std::string_view name) {
    return std::ranges::any_of(overrides, [&](const auto& entry) { return entry.first == name; });
  };
  std::vector<std::string> environment;
  for (const std::string& entry : inherited) {
    const std::string_view name = NameIn(entry);
    if (!BelongsToLauncher(name) && !overridden(name)) environment.push_back(entry);
  }
  for (const auto& [name, value] : overrides) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace retort::cluster
