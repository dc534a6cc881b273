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

// Records steps as a GPU does: operation by operation with the numbers that the host gives them, and nothing happens
// meanwhile. A replay is those operations again on the same memory. Refused, with the reason: what the host reads or
// writes in a recorded step, shapes that depend on what is read, noise, and tensors that outlast their step. The bytes
// of what a step made are overwritten at its end.
[[nodiscard]] worker::GraphDevice& PretendGraphDevice();

// From now on each replay is followed by the step itself on the memory of before, and fails where that is told or
// leaves anything else: a number of the host that the recording has kept.
void CheckPretendReplays(bool check);

}  // namespace retort::testing
