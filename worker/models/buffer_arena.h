// What a network carries besides its parameters: the running statistics of its batch norms, and constants that frozen
// layers were fitted to.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/gang/collective.h"

namespace retort::worker {

// Of batch norm b, in layer order: mean and variance f32 [channels], views into one flat tensor.
class BufferArena {
 public:
  // Channels of each batch norm, shapes of the constants. Starts with mean 0, variance 1 and no batch counted, and
  // constants of zeros.
  BufferArena(const std::vector<std::int64_t>& channels, const std::vector<std::vector<std::int64_t>>& constants,
              at::Device device);
  BufferArena(const BufferArena&) = delete;
  BufferArena& operator=(const BufferArena&) = delete;

  [[nodiscard]] bool empty() const { return means_.empty(); }  // no batch norm
  [[nodiscard]] const at::Tensor& mean(std::size_t norm) const { return means_[norm]; }
  [[nodiscard]] const at::Tensor& variance(std::size_t norm) const { return variances_[norm]; }
  [[nodiscard]] at::Tensor& flat() { return flat_; }         // f32; means and variances
  [[nodiscard]] at::Tensor& counts() { return counts_; }     // i64 [batch norms]: batches tracked
  [[nodiscard]] const at::Tensor& counts() const { return counts_; }
  // All constants, f32 [values in all], and each by itself, a view into it. No step changes them, Reset neither.
  [[nodiscard]] at::Tensor& constants() { return constants_; }
  [[nodiscard]] const at::Tensor& constant(std::size_t index) const { return constant_views_[index]; }
  void Reset();

  // Every member's statistics become the mean of all members', weighted by the rows that each had of the
  // batch of `rows`; the same bits everywhere. A member without rows takes the others' word. Error: of the gang.
  [[nodiscard]] Status ShareInGang(std::int64_t own_rows, std::int64_t rows, Collective& gang);

 private:
  at::Tensor flat_, counts_;
  std::vector<at::Tensor> means_, variances_;
  at::Tensor constants_;
  std::vector<at::Tensor> constant_views_;
};

}  // namespace retort::worker
