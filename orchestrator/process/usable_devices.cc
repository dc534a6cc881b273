#include "orchestrator/process/usable_devices.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "cluster/launch_environment.h"
#include "cluster/topology.h"
#include "cluster/worker_process.h"
#include "cluster/worker_questions.h"
#include "experiments/base/status.h"

namespace retort::orchestrator {
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
