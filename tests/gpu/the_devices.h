// The devices of a test program on a GPU.
#pragma once

#include "worker/devices/devices.h"

namespace retort::worker {

// Of the process, by the library that the build named.
inline Devices& TheDevices() {
  static Devices devices(RETORT_CUDA_LIBRARY);
  return devices;
}

}  // namespace retort::worker
