#include "cluster/topology.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>

#include "cluster/launch_environment.h"

namespace retort::cluster {
namespace {

bool IsNumber(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

int CountDeviceFiles(const std::string& directory) {
  constexpr std::string_view kPrefix = "nvidia";
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && IsNumber(std::string_view(name).substr(kPrefix.size()))) ++count;
  }
  return count;
}

// CUDA takes entries up to the first that names no device: an index out of range, or a negative one.
int CountVisible(std::string_view mask, int devices) {
  int visible = 0;
  while (!mask.empty() && visible < devices) {
    const std::size_t comma = mask.find(',');
    const std::string_view entry = mask.substr(0, comma);
    if (IsNumber(entry)) {
      int index = devices;
      std::from_chars(entry.data(), entry.data() + entry.size(), index);
      if (index >= devices) break;
    } else if (!entry.starts_with("GPU-") && !entry.starts_with("MIG-")) {
      break;
    }
    ++visible;
    mask = comma == std::string_view::npos ? std::string_view() : mask.substr(comma + 1);
  }
  return visible;
}

int CountCpus() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof(mine), &mine) == 0) return std::max(1, CPU_COUNT(&mine));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

HostTopology DiscoverHost(const std::vector<std::string>& environment, const std::string& device_directory) {
  HostTopology host;
  host.host = HostName();
  host.cpus = CountCpus();
  host.cuda_devices = CountDeviceFiles(device_directory);
  if (const auto mask = FindVariable(environment, "CUDA_VISIBLE_DEVICES")) {
    host.cuda_devices = CountVisible(*mask, host.cuda_devices);
  }
  return host;
}

std::vector<std::string> DevicesOf(const HostTopology& host, int local_rank, int local_size, int slots) {
  RETORT_CHECK(slots >= 1 && local_size >= 1 && local_rank >= 0 && local_rank < local_size);
  if (host.cuda_devices == 0) return std::vector<std::string>(static_cast<std::size_t>(slots), "cpu");
  std::vector<std::string> devices;
  const int begin = local_rank * host.cuda_devices / local_size;
  const int end = (local_rank + 1) * host.cuda_devices / local_size;
  for (int device = begin; device < end; ++device) devices.push_back("cuda:" + std::to_string(device));
  return devices;
}

}  // namespace retort::cluster
