#include "worker/devices/device_meter.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

namespace retort::worker {
namespace {

constexpr int kSuccess = 0;  // NVML_SUCCESS
constexpr std::chrono::milliseconds kBetweenLooks{500};

}  // namespace

// The calls of nvml.h that are used here; their numbers and types are part of NVML's stable interface.
struct DeviceMeter::Library {
  struct Utilization {  // nvmlUtilization_t: percent of the last sample period
    unsigned gpu = 0, memory = 0;
  };
  explicit Library(const std::string& path) : handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    Find("nvmlInit_v2", init);
    Find("nvmlShutdown", shutdown);
    Find("nvmlDeviceGetHandleByUUID", by_uuid);
    Find("nvmlDeviceGetTotalEnergyConsumption", energy);
    Find("nvmlDeviceGetUtilizationRates", utilization);
    const bool whole = init != nullptr && shutdown != nullptr && by_uuid != nullptr;
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
    if (energy == nullptr || energy(gpu, &millijoules) != kSuccess) return std::nullopt;
    return millijoules;
  }

  [[nodiscard]] std::optional<double> ReadBusyPercent(void* gpu) const {
    Utilization rates;
    if (utilization == nullptr || utilization(gpu, &rates) != kSuccess) return std::nullopt;
    return std::min(rates.gpu, 100U);
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
  int (*utilization)(void*, Utilization*) = nullptr;
  bool ready = false;
};

std::shared_ptr<const DeviceMeter> DeviceMeter::Open(const std::string& uuid, const std::string& library) {
  if (uuid.empty()) return nullptr;
  auto nvml = std::make_shared<const Library>(library);
  void* gpu = nullptr;
  if (!nvml->ready || nvml->by_uuid(uuid.c_str(), &gpu) != kSuccess) return nullptr;
  std::shared_ptr<const DeviceMeter> meter(new DeviceMeter(std::move(nvml), gpu, uuid));
  return meter->start_ || meter->looking_.joinable() ? meter : nullptr;
}

DeviceMeter::DeviceMeter(std::shared_ptr<const Library> library, void* gpu, const std::string& uuid)
    : library_(std::move(library)),
      gpu_(gpu),
      identity_(static_cast<std::int64_t>(std::hash<std::string>{}(uuid))),
      start_(library_->ReadMillijoules(gpu)) {
  // What is said now is of the time before.
  if (library_->ReadBusyPercent(gpu_)) looking_ = std::thread([this] { LookOn(); });
}

DeviceMeter::~DeviceMeter() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  closed_.notify_all();
  if (looking_.joinable()) looking_.join();
}

void DeviceMeter::Look() const {
  const std::optional<double> percent = library_->ReadBusyPercent(gpu_);
  if (!percent) return;
  percents_ += *percent;
  ++looks_;
}

void DeviceMeter::LookOn() {
  std::unique_lock lock(mutex_);
  while (!closed_.wait_for(lock, kBetweenLooks, [this] { return closing_; })) Look();
}

std::optional<double> DeviceMeter::Joules() const {
  const std::optional<unsigned long long> now = library_->ReadMillijoules(gpu_);
  if (!start_ || !now || *now < *start_) return std::nullopt;
  return static_cast<double>(*now - *start_) / 1e3;
}

std::optional<double> DeviceMeter::BusyFraction() const {
  if (!looking_.joinable()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  Look();
  if (looks_ == 0) return std::nullopt;
  return percents_ / (100.0 * static_cast<double>(looks_));
}

}  // namespace retort::worker
