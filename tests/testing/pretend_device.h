// A device that is none, for machines without a GPU: its memory is this process's, its kernels are the CPU's,
// and what a real device would refuse it refuses.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

#include "experiments/base/status.h"
#include "worker/devices/devices.h"

namespace retort::testing {

// Registered with LibTorch (under its key PrivateUse1) when the program is loaded. Results have the bits of
// the CPU's. An operation on tensors of different devices throws, but for copies and for single numbers of
// the CPU. The bytes of its tensors are out of reach: reading them through data_ptr ends the program with
// SIGSEGV.
inline constexpr int kPretendDevices = 4;
[[nodiscard]] inline at::Device PretendDevice(int ordinal = 0) {
  return {at::DeviceType::PrivateUse1, static_cast<at::DeviceIndex>(ordinal)};
}

// A DeviceOpener for "pretend:0" and so on, and for "cpu".
[[nodiscard]] Result<worker::OpenDevice> OpenPretend(const std::string& name);

// Its kernels for keyed noise have run so often in this process.
[[nodiscard]] std::int64_t PretendNoises();

// Operations that the pretend devices have run so far in this process.
[[nodiscard]] std::int64_t PretendOperations();

}  // namespace retort::testing
