#include "orchestrator/process/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

#include "cluster/host.h"
#include "cluster/launch_environment.h"
#include "cluster/mpi_world.h"
#include "cluster/worker_process.h"
#include "cluster/worker_questions.h"
#include "experiments/base/environment.h"
#include "experiments/base/status.h"

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
  if (!cluster::MayJoinWorld(cluster::ReadLaunchEnvironment(environment))) return true;
  static constexpr std::array<std::string_view, 3> kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
  for (const std::string_view name : kRankVariables)
    if (const std::optional<std::string> rank = cluster::FindVariable(environment, name)) return *rank == "0";
  return true;
}

std::string GetProgramDirectory() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

std::string FindSharedFolder(const std::string& program_directory) {
  std::error_code error;
  for (const char* up : {"..", "../.."}) {
    const std::filesystem::path folder = std::filesystem::path(program_directory) / up / "share/retort";
    if (std::filesystem::is_directory(folder, error)) return std::filesystem::canonical(folder, error).string();
  }
  return "";
}

std::string GetHostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string FindMachineKind(const std::vector<std::string>& environment) {
  const UsableDevices usable =
      FindUsableDevices(environment, GetProgramDirectory() + "/retort-worker", DeviceProbe::look);
  const cluster::HostTopology host = cluster::DiscoverHost(usable.environment);
  const std::string processor = FindField("/proc/cpuinfo", "model name");
  std::string kind = processor.empty() ? "unknown processor" : processor;
  kind += " x" + std::to_string(host.cpus);
  if (host.cuda_devices > 0) kind += ", " + GpuModel();
  return kind;
}

std::string FindCacheDirectory(const std::vector<std::string>& environment) {
  return FindCacheFolder([&](const std::string& name) { return cluster::FindVariable(environment, name); });
}

namespace {

constexpr const char* kMask = "CUDA_VISIBLE_DEVICES";

// Restricts the environment to the first `count` devices that it shows.
std::string FormatFirstDevices(const std::vector<std::string>& environment, int count) {
  std::string mask = cluster::FindVariable(environment, kMask).value_or("");
  if (mask.empty()) {
    for (int device = 0; device < count; ++device) mask += (device > 0 ? "," : "") + std::to_string(device);
    return mask;
  }
  std::size_t end = 0;
  for (int device = 0; device < count && end != std::string::npos; ++device)
    end = mask.find(',', end + (device > 0 ? 1 : 0));
  return mask.substr(0, end);
}

std::vector<std::string> Masked(const std::vector<std::string>& environment, const std::string& mask) {
  std::vector<std::string> masked;
  std::copy_if(environment.begin(), environment.end(), std::back_inserter(masked),
               [](const std::string& entry) { return !entry.starts_with(std::string(kMask) + "="); });
  masked.push_back(std::string(kMask) + "=" + mask);
  return masked;
}

Result<int> CountUsable(const std::vector<std::string>& environment, const std::string& program, DeviceProbe probe,
                        int shown) {
  const std::string library = std::filesystem::path(program).parent_path() / "libretort_cuda.so";
  std::error_code error;
  if (!std::filesystem::exists(library, error))
    return EnvironmentError("this build has no " + library + " (needs the CUDA toolkit and `setup.sh --cuda`)");
  if (probe == DeviceProbe::look) return shown;
  return cluster::CountUsableCuda(program, cluster::MakeWorkerEnvironment(environment, {}));
}

std::string Devices(int count) { return std::to_string(count) + (count == 1 ? " CUDA device" : " CUDA devices"); }

}  // namespace

UsableDevices FindUsableDevices(const std::vector<std::string>& environment, const std::string& worker_program,
                                DeviceProbe probe, const std::string& device_directory) {
  const int shown = cluster::DiscoverHost(environment, device_directory).cuda_devices;
  if (shown == 0) return {environment, ""};
  const Result<int> usable = CountUsable(environment, worker_program, probe, shown);
  if (!usable.ok()) {
    return {Masked(environment, ""),
            "trials run on the CPU: " + Devices(shown) + " cannot be used, " + usable.status().message()};
  }
  if (*usable >= shown) return {environment, ""};
  return {Masked(environment, FormatFirstDevices(environment, *usable)),
          "the host shows " + Devices(shown) + ", the driver " + std::to_string(*usable) + ": the rest is left out"};
}

}  // namespace retort::orchestrator
