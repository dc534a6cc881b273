#include "orchestrator/process/environment.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "cluster/launch_environment.h"
#include "cluster/topology.h"
#include "orchestrator/process/usable_devices.h"

namespace retort::orchestrator {
namespace {

// What follows the colon of the first line that starts with `key`; empty when there is none.
std::string FindField(const std::filesystem::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string GpuModel() {
  std::error_code error;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error))
    if (std::string model = FindField(gpu.path() / "information", "Model"); !model.empty()) return model;
  return "CUDA device";
}

}  // namespace

std::vector<std::string> ReadProcessEnvironment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

bool IsWorldRankZero(const std::vector<std::string>& environment) {
  if (!cluster::ReadLaunchEnvironment(environment).under_mpi) return true;
  static constexpr std::array<std::string_view, 3> kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
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

std::string FindMachineKind(const std::vector<std::string>& environment) {
  const UsableDevices usable = FindUsableDevices(environment, ProgramDirectory() + "/retort-worker", DeviceProbe::look);
  const cluster::HostTopology host = cluster::DiscoverHost(usable.environment);
  const std::string processor = FindField("/proc/cpuinfo", "model name");
  std::string kind = processor.empty() ? "unknown processor" : processor;
  kind += " x" + std::to_string(host.cpus);
  if (host.cuda_devices > 0) kind += ", " + GpuModel();
  return kind;
}

std::string FindCacheDirectory(const std::vector<std::string>& environment) {
  const std::string own = cluster::FindVariable(environment, "XDG_CACHE_HOME").value_or("");
  if (own.starts_with('/')) return own + "/retort";
  const std::string home = cluster::FindVariable(environment, "HOME").value_or("");
  return home.starts_with('/') ? home + "/.cache/retort" : "";
}

}  // namespace retort::orchestrator
