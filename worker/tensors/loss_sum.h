// Losses that stay where they are computed until somebody reads them.
#pragma once

#include <ATen/core/Tensor.h>

namespace retort::worker {

// A sum in f64, term by term. On other devices than the CPU it is computed there, with the same bits.
class LossSum {
 public:
  // Adds weight * value * scale / divisor, from the left. value: one number, of any type.
  void Add(const at::Tensor& value, double weight, double scale = 1, double divisor = 1);
  // Returns the sum, f64 [], where its terms lie; reading it waits for the device. Without terms 0, on the CPU.
  [[nodiscard]] at::Tensor Total() const;

 private:
  double on_host_ = 0;
  at::Tensor on_device_;
};

}  // namespace retort::worker
