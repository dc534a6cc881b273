#include "orchestrator/environment.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "cluster/launch_environment.h"

namespace retort::orchestrator {

std::vector<std::string> ProcessEnvironment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

bool IsWorldRankZero(const std::vector<std::string>& environment) {
  if (!cluster::ReadLaunchEnvironment(environment).under_mpi) return true;
  static constexpr std::array<std::string_view, 3> kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                                                     "PMI_RANK"};
  for (const std::string_view name : kRankVariables)
    if (const std::optional<std::string> rank = cluster::FindVariable(environment, name)) return *rank == "0";
  return true;
}

std::string ProgramDirectory() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace retort::orchestrator
