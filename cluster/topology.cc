#include "cluster/topology.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
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

struct Gpu {
  std::string model, uuid;
};

std::string Trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// Lines "Model: \t NVIDIA H200".
Gpu ReadGpu(const std::filesystem::path& path) {
  Gpu gpu;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, colon), value = Trim(line.substr(colon + 1));
    if (name == "Model") gpu.model = value;
    if (name == "GPU UUID") gpu.uuid = value;
  }
  return gpu;
}

// By bus address, which is the order of PCI_BUS_ID.
std::map<std::string, Gpu> ReadGpus(const std::string& directory) {
  std::map<std::string, Gpu> gpus;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    gpus.emplace(entry.path().filename().string(), ReadGpu(entry.path() / "information"));
  return gpus;
}

// An entry of CUDA_VISIBLE_DEVICES: an ordinal, or the beginning of a UUID. Empty: it names none.
std::string FindUuid(const std::string& entry, const std::vector<std::string>& all) {
  std::size_t ordinal = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), ordinal);
  if (error == std::errc() && end == entry.data() + entry.size()) return ordinal < all.size() ? all[ordinal] : "";
  for (const std::string& uuid : all)
    if (entry.starts_with("GPU-") && uuid.starts_with(entry)) return uuid;
  return "";
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

std::vector<std::string> AssignDevices(const HostTopology& host, int local_rank, int local_size, int slots) {
  RETORT_CHECK(slots >= 1 && local_size >= 1 && local_rank >= 0 && local_rank < local_size);
  if (host.cuda_devices == 0) return std::vector<std::string>(static_cast<std::size_t>(slots), "cpu");
  std::vector<std::string> devices;
  const int begin = local_rank * host.cuda_devices / local_size;
  const int end = (local_rank + 1) * host.cuda_devices / local_size;
  for (int device = begin; device < end; ++device) devices.push_back("cuda:" + std::to_string(device));
  return devices;
}

std::vector<std::string> FindGpuUuids(const std::vector<std::string>& environment,
                                      const std::string& driver_directory) {
  const bool by_bus = FindVariable(environment, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID";
  std::vector<std::string> all;
  std::string model;
  for (const auto& [bus, gpu] : ReadGpus(driver_directory)) {
    if (gpu.uuid.empty() || (!by_bus && !all.empty() && gpu.model != model)) return {};
    model = gpu.model;
    all.push_back(gpu.uuid);
  }
  const std::optional<std::string> mask = FindVariable(environment, "CUDA_VISIBLE_DEVICES");
  if (!mask) return all;
  std::vector<std::string> visible;
  std::stringstream entries(*mask);
  for (std::string entry; std::getline(entries, entry, ',');) {
    visible.push_back(FindUuid(Trim(entry), all));
    if (visible.back().empty()) return {};  // CUDA ends its list there; what the entry means is not known here
  }
  return visible;
}

}  // namespace retort::cluster
