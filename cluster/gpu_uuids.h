// Names of GPUs that other tools use as well, as DCGM's metrics do.
#pragma once

#include <string>
#include <vector>

namespace retort::cluster {

// "GPU-...." by CUDA ordinal, as the driver's files below `driver_directory` tell (DIRECTORY/<bus>/information) and
// CUDA_VISIBLE_DEVICES of `environment` ("NAME=value" entries) selects. Empty when they cannot be told apart: no
// such files, or GPUs of different models without CUDA_DEVICE_ORDER=PCI_BUS_ID, which CUDA orders by speed.
[[nodiscard]] std::vector<std::string> GpuUuids(const std::vector<std::string>& environment,
                                                const std::string& driver_directory = "/proc/driver/nvidia/gpus");

}  // namespace retort::cluster
