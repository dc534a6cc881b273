// What energy a GPU has used, as NVIDIA's driver counts it (NVML, loaded where it is there).
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace retort::worker {

class EnergyMeter {
 public:
  static constexpr const char* kNvml = "libnvidia-ml.so.1";

  // Of the GPU with this UUID ("GPU-..."; empty: not known). Null where the library is not there, or does not count
  // that GPU's energy.
  [[nodiscard]] static std::shared_ptr<const EnergyMeter> Open(const std::string& uuid,
                                                               const std::string& library = kNvml);

  // Joules since the meter was opened, of all that the GPU did; nothing when it cannot be read any more.
  [[nodiscard]] std::optional<double> Joules() const;

 private:
  struct Library;
  EnergyMeter(std::shared_ptr<const Library> library, void* gpu, unsigned long long start)
      : library_(std::move(library)), gpu_(gpu), start_(start) {}
  std::shared_ptr<const Library> library_;
  void* gpu_;                 // NVML's handle, of the library
  unsigned long long start_;  // millijoules
};

}  // namespace retort::worker
