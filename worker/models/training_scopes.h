// Scopes of lower precision, around a training pass or a trial, and one that restores statistics if a pass is
// discarded.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "experiments/methods/trial_spec.h"
#include "worker/models/network.h"

namespace retort::worker {

// While it lives, convolutions and products on `device` compute in bfloat16 on this thread, and what they give is
// bfloat16; parameters and their gradients stay float32. Nothing at all for Precision::float32. Nests.
class AutocastScope {
 public:
  AutocastScope(Precision precision, c10::Device device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool active_;
  c10::DeviceType device_;
  bool before_ = false;
};

// While it lives, products and convolutions of float32 on CUDA devices round their factors to TF32, in the whole
// process; those on CPUs do not, nor do numbers of another kind. Nothing at all for another precision or device.
class Tf32Scope {
 public:
  Tf32Scope(Precision precision, c10::Device device);
  ~Tf32Scope();
  Tf32Scope(const Tf32Scope&) = delete;
  Tf32Scope& operator=(const Tf32Scope&) = delete;

 private:
  bool active_;
};

// Whether convolutions on the device are fastest with each pixel's channels side by side: those of CPUs always, cuDNN's
// where tensor cores compute them, in TF32 or bfloat16 as this thread has it now.
[[nodiscard]] bool PrefersChannelsLast(c10::Device device);

// Restores the running statistics of a network's batch norms at its end, unless the step that moved them is kept. The
// network outlives the guard.
class StatisticsGuard {
 public:
  explicit StatisticsGuard(Network& network) : network_(network) {
    if (network.buffers().empty()) return;
    flat_ = network.buffers().flat().clone();
    counts_ = network.buffers().counts().clone();
  }
  StatisticsGuard(const StatisticsGuard&) = delete;
  StatisticsGuard& operator=(const StatisticsGuard&) = delete;
  ~StatisticsGuard() {
    if (kept_ || !flat_.defined()) return;
    network_.buffers().flat().copy_(flat_);
    network_.buffers().counts().copy_(counts_);
  }
  void Keep() { kept_ = true; }

 private:
  Network& network_;
  at::Tensor flat_, counts_;
  bool kept_ = false;
};

}  // namespace retort::worker
