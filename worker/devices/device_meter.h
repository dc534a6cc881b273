// What a GPU has used and how busy it was, as NVIDIA's driver counts it (NVML, loaded where it is there).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace retort::worker {

// Looks at the GPU twice a second, in a thread of its own, as long as it lives. What it says is of all that the GPU
// did, for whichever process.
class DeviceMeter {
 public:
  static constexpr const char* kNvml = "libnvidia-ml.so.1";

  // Of the GPU with this UUID ("GPU-..."; empty: not known). Null where the library is not there, or tells neither that
  // GPU's energy nor how busy it is.
  [[nodiscard]] static std::shared_ptr<const DeviceMeter> Open(const std::string& uuid,
                                                               const std::string& library = kNvml);
  ~DeviceMeter();
  DeviceMeter(const DeviceMeter&) = delete;
  DeviceMeter& operator=(const DeviceMeter&) = delete;

  // Joules since the meter was opened; nothing where the driver does not count them, or cannot be read any more.
  [[nodiscard]] std::optional<double> Joules() const;
  // The fraction of the time since then in which at least one kernel ran, in [0, 1]: the mean of what the driver says
  // of the second before each look, this one included. Nothing where it does not say.
  [[nodiscard]] std::optional<double> BusyFraction() const;
  // The same for equal GPUs, whichever process asks.
  [[nodiscard]] std::int64_t gpu() const { return identity_; }

 private:
  struct Library;
  DeviceMeter(std::shared_ptr<const Library> library, void* gpu, const std::string& uuid);
  void Look() const;
  void LookOn();

  std::shared_ptr<const Library> library_;
  void* gpu_;  // NVML's handle, of the library
  std::int64_t identity_;
  std::optional<unsigned long long> start_;  // millijoules
  mutable std::mutex mutex_;                 // of what stands below
  mutable double percents_ = 0;              // summed over the looks
  mutable std::int64_t looks_ = 0;
  bool closing_ = false;
  std::condition_variable closed_;
  std::thread looking_;  // last: begins when the rest is there; not begun where the driver does not say how busy it is
};

}  // namespace retort::worker
