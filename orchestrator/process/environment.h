// What this process learns from its host: its environment (the only place of `retort` that reads it), folders, kind of
// machine, usable devices.
#pragma once

#include <string>
#include <vector>

namespace retort::orchestrator {

// Returns every "NAME=value" that this process was started with.
[[nodiscard]] std::vector<std::string> ReadProcessEnvironment();
// Whether this process is world rank 0, by the variables of the launcher; true without a launcher.
[[nodiscard]] bool IsWorldRankZero(const std::vector<std::string>& environment);
// Returns the folder of the running program.
[[nodiscard]] std::string GetProgramDirectory();
// Returns the folder of what comes with the program (sweep files, data sets), by the place of the program alone:
// share/retort beside `program_directory` or beside the folder that it is in; empty where neither is there.
[[nodiscard]] std::string FindSharedFolder(const std::string& program_directory = GetProgramDirectory());
[[nodiscard]] std::string GetHostName();
// Returns what decides how fast trials are on this host: processor model, processors, usable CUDA devices. Equal on
// equal machines.
[[nodiscard]] std::string FindMachineKind(const std::vector<std::string>& environment);
// Returns the folder for caches (FindCacheFolder of experiments/base/environment.h) as `environment` says.
[[nodiscard]] std::string FindCacheDirectory(const std::vector<std::string>& environment);

// Finds out which CUDA devices of this host its workers can use, before a trial depends on them.

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
