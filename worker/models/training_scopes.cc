#include "worker/models/training_scopes.h"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>

namespace retort::worker {

AutocastScope::AutocastScope(Precision precision, c10::Device device)
    : active_(precision == Precision::bfloat16), device_(device.type()) {
  if (!active_) return;
  before_ = at::autocast::is_autocast_enabled(device_);
  at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::increment_nesting();
}

// The cache holds casts of parameters, which the next step changes.
AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, before_);
}

namespace {

void AllowTf32(bool allowed) {
  at::globalContext().setAllowTF32CuDNN(allowed);
  at::globalContext().setAllowTF32CuBLAS(allowed);
}

}  // namespace

Tf32Scope::Tf32Scope(Precision precision, c10::Device device)
    : active_(precision == Precision::tf32 && device.is_cuda()) {
  if (active_) AllowTf32(true);
}

Tf32Scope::~Tf32Scope() {
  if (active_) AllowTf32(false);
}

bool PrefersChannelsLast(c10::Device device) {
  if (!device.is_cuda()) return true;
  return at::globalContext().allowTF32CuDNN() || at::autocast::is_autocast_enabled(device.type());
}

}  // namespace retort::worker
