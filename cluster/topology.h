// What a host has to compute on, and which part of it falls to one agent.
#pragma once

#include <string>
#include <vector>

#include "experiments/base/status.h"

namespace retort::cluster {

struct HostTopology {
  std::string host;
  int cpus = 1;          // that this process may run on
  int cuda_devices = 0;  // visible to this process
};

// Counts DEVICE_DIRECTORY/nvidia<number> and applies CUDA_VISIBLE_DEVICES from `environment`
// ("NAME=value" entries). No CUDA library is touched.
[[nodiscard]] HostTopology DiscoverHost(const std::vector<std::string>& environment,
                                        const std::string& device_directory = "/dev");

// Returns the devices of the agent `local_rank` of `local_size` on this host: a contiguous share of the CUDA
// devices ("cuda:0", ...; ordinals as the worker sees them), or `slots` times "cpu" when the host has
// none. An agent beyond the number of devices has none. slots >= 1, 0 <= local_rank < local_size.
[[nodiscard]] std::vector<std::string> AssignDevices(const HostTopology& host, int local_rank, int local_size,
                                                     int slots);

// Returns the UUIDs of GPUs ("GPU-..."), by which other tools name them too, by CUDA ordinal: as the driver's files
// below `driver_directory` tell (DIRECTORY/<bus>/information) and CUDA_VISIBLE_DEVICES of `environment` ("NAME=value"
// entries) selects. Empty when they cannot be told apart: no such files, or GPUs of different models without
// CUDA_DEVICE_ORDER=PCI_BUS_ID, which CUDA orders by speed.
[[nodiscard]] std::vector<std::string> FindGpuUuids(const std::vector<std::string>& environment,
                                                    const std::string& driver_directory = "/proc/driver/nvidia/gpus");

}  // namespace retort::cluster
