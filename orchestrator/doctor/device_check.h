// Checks the GPUs: which there are, which this process may use, and what hides the others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orchestrator/doctor/report.h"

namespace retort::orchestrator::doctor {

struct DeviceFacts {
  int files = 0;                    // DEVICE_DIRECTORY/nvidia<number>
  std::vector<std::string> closed;  // paths of them, and of nvidiactl, that this user may not read and write
  bool control = false;             // nvidiactl is there
  std::string driver;               // version of the NVIDIA driver in the kernel; empty without one
  std::optional<std::string> mask;  // CUDA_VISIBLE_DEVICES
  int visible = 0;                  // of `files`, by the mask
  std::vector<int> split;           // GPUs that are split into MIG instances
  bool library = false;             // libretort_cuda.so lies beside the worker program
  int usable = 0;                   // that the worker program opened
  std::string trouble;              // why it opened none; empty when it was not asked
};

// The worker program is asked where it has a library and devices to try it on: at most 7 s.
[[nodiscard]] DeviceFacts ReadDeviceFacts(const std::vector<std::string>& environment,
                                          const std::string& worker_program,
                                          const std::string& device_directory = "/dev",
                                          const std::string& driver_directory = "/proc/driver/nvidia");

// Driver, device files and the worker program agree on what can be used.
[[nodiscard]] Finding CheckVisibleDevices(const DeviceFacts& facts);
// CUDA_VISIBLE_DEVICES names what there is. Nothing where it is not set.
[[nodiscard]] std::optional<Finding> CheckDeviceMask(const DeviceFacts& facts);
// Nothing where no GPU is split.
[[nodiscard]] std::optional<Finding> CheckMig(const DeviceFacts& facts);

}  // namespace retort::orchestrator::doctor
