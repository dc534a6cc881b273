// What a test program says and answers where no device can be had.
#pragma once

#include <cstdio>
#include <string_view>

#include "experiments/base/status.h"
#include "worker/devices/cuda_plugin.h"

namespace retort::worker {

// Exit status: 77, which ctest reports as skipped, where the machine has no device or lacks torch's CUDA libraries; 1
// for any other reason that libretort_cuda.so does not load.
inline int WithoutDevice(const Status& status) {
  const std::string_view reason = status.message();
  const bool skipped = reason.ends_with("shows no device.") || reason.ends_with(kCudaRemedy);
  std::printf("%s: %s\n", skipped ? "skipped" : "failed", status.message().c_str());
  return skipped ? 77 : 1;
}

}  // namespace retort::worker
