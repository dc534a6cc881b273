#include "cluster/gpu_uuids.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>

#include "cluster/launch_environment.h"

namespace retort::cluster {
namespace {

struct Gpu {
  std::string model, uuid;
};

std::string Trimmed(const std::string& text) {
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
    const std::string name = line.substr(0, colon), value = Trimmed(line.substr(colon + 1));
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
std::string Named(const std::string& entry, const std::vector<std::string>& all) {
  std::size_t ordinal = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), ordinal);
  if (error == std::errc() && end == entry.data() + entry.size()) return ordinal < all.size() ? all[ordinal] : "";
  for (const std::string& uuid : all)
    if (entry.starts_with("GPU-") && uuid.starts_with(entry)) return uuid;
  return "";
}

}  // namespace

std::vector<std::string> GpuUuids(const std::vector<std::string>& environment, const std::string& driver_directory) {
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
    visible.push_back(Named(Trimmed(entry), all));
    if (visible.back().empty()) return {};  // CUDA ends its list there; what the entry means is not known here
  }
  return visible;
}

}  // namespace retort::cluster
