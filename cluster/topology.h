// What a host has to compute on, and which part of it falls to one agent.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/status.h"

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

// The devices of the agent `local_rank` of `local_size` on this host: a contiguous share of the CUDA
// devices ("cuda:0", ...; ordinals as the worker sees them), or `slots` times "cpu" when the host has
// none. An agent beyond the number of devices has none. slots >= 1, 0 <= local_rank < local_size.
[[nodiscard]] std::vector<std::string> DevicesOf(const HostTopology& host, int local_rank, int local_size,
                                                 int slots);

}  // namespace retort::cluster
