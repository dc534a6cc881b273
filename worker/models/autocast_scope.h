// Lower precision inside networks.
#pragma once

#include <c10/core/Device.h>

#include "experiments/spec/trial_spec.h"

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

}  // namespace retort::worker
