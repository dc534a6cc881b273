#include "worker/devices/energy_meter.h"

#include <dlfcn.h>

#include <utility>

namespace retort::worker {
namespace {

constexpr int kSuccess = 0;  // NVML_SUCCESS

}  // namespace

// The calls of nvml.h that are used here; their numbers and types are part of NVML's stable interface.
struct EnergyMeter::Library {
  explicit Library(const std::string& path) : handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    Find("nvmlInit_v2", init);
    Find("nvmlShutdown", shutdown);
    Find("nvmlDeviceGetHandleByUUID", by_uuid);
    Find("nvmlDeviceGetTotalEnergyConsumption", energy);
    const bool whole = init != nullptr && shutdown != nullptr && by_uuid != nullptr && energy != nullptr;
    ready = whole && init() == kSuccess;
  }
  ~Library() {
    if (ready) shutdown();
    if (handle != nullptr) ::dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] std::optional<unsigned long long> ReadMillijoules(void* gpu) const {
    unsigned long long millijoules = 0;
    if (energy(gpu, &millijoules) != kSuccess) return std::nullopt;
    return millijoules;
  }

  template <class Function>
  void Find(const char* name, Function*& function) {
    if (handle != nullptr) function = reinterpret_cast<Function*>(::dlsym(handle, name));
  }

  void* handle;
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*by_uuid)(const char*, void**) = nullptr;
  int (*energy)(void*, unsigned long long*) = nullptr;
  bool ready = false;
};

std::shared_ptr<const EnergyMeter> EnergyMeter::Open(const std::string& uuid, const std::string& library) {
  if (uuid.empty()) return nullptr;
  auto nvml = std::make_shared<const Library>(library);
  void* gpu = nullptr;
  if (!nvml->ready || nvml->by_uuid(uuid.c_str(), &gpu) != kSuccess) return nullptr;
  const std::optional<unsigned long long> start = nvml->ReadMillijoules(gpu);
  if (!start) return nullptr;
  return std::shared_ptr<const EnergyMeter>(new EnergyMeter(std::move(nvml), gpu, *start));
}

std::optional<double> EnergyMeter::Joules() const {
  const std::optional<unsigned long long> now = library_->ReadMillijoules(gpu_);
  if (!now || *now < start_) return std::nullopt;
  return static_cast<double>(*now - start_) / 1e3;
}

}  // namespace retort::worker
