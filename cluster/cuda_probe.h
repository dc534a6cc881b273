// Whether the worker program can use the CUDA devices that this host shows.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "experiments/spec/status.h"

namespace retort::cluster {

// The argument with which the worker program, in place of its work, sends one Hello that says what it found.
inline constexpr const char* kProbeCuda = "--probe-cuda";

// That Hello: `usable` CUDA devices, or why there are none.
[[nodiscard]] Hello CudaAnswer(const std::string& build, const Result<int>& usable);

// Starts `program` so, in `environment` ("NAME=value", complete), and ends it. At least 1. Error:
// environment, with what it said, when it can use none, cannot be started, or does not answer in time.
[[nodiscard]] Result<int> CountUsableCuda(const std::string& program,
                                          const std::vector<std::string>& environment,
                                          std::chrono::milliseconds deadline = std::chrono::seconds(60));

}  // namespace retort::cluster
