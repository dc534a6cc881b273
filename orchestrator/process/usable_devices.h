// Finds out which CUDA devices of this host its workers can use, before a trial depends on them.
#pragma once

#include <string>
#include <vector>

namespace retort::orchestrator {

struct UsableDevices {
  std::vector<std::string> environment;  // as given, but CUDA_VISIBLE_DEVICES names no more than can be used
  std::string notice;                    // one line: what is left out, and why; empty when nothing is
};

enum class DeviceProbe { look, run };

// Nothing to do where `device_directory` and `environment` ("NAME=value") show no device. Else looks for
// libretort_cuda.so beside `worker_program`; with DeviceProbe::run also lets the program load it, which takes
// seconds. Without it, or when it finds no device, the host's slots are CPUs: the environment then masks all
// devices.
[[nodiscard]] UsableDevices FindUsableDevices(const std::vector<std::string>& environment,
                                              const std::string& worker_program, DeviceProbe probe,
                                              const std::string& device_directory = "/dev");

}  // namespace retort::orchestrator
