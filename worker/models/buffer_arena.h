// What a network carries besides its parameters: the running statistics of its batch norms.
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
  // Channels of each batch norm. Starts with mean 0, variance 1 and no batch counted.
  BufferArena(const std::vector<std::int64_t>& channels, at::Device device);
  BufferArena(const BufferArena&) = delete;
  BufferArena& operator=(const BufferArena&) = delete;

  [[nodiscard]] bool empty() const { return means_.empty(); }
  [[nodiscard]] const at::Tensor& mean(std::size_t norm) const { return means_[norm]; }
  [[nodiscard]] const at::Tensor& variance(std::size_t norm) const { return variances_[norm]; }
  [[nodiscard]] at::Tensor& flat() { return flat_; }         // f32; means and variances
  [[nodiscard]] at::Tensor& counts() { return counts_; }     // i64 [batch norms]: batches tracked
  [[nodiscard]] const at::Tensor& counts() const { return counts_; }
  void Reset();

  // Every member's statistics become the mean of all members', weighted by the rows that each had of the
  // batch of `rows`; the same bits everywhere. A member without rows takes the others' word. Error: of the gang.
  [[nodiscard]] Status ShareInGang(std::int64_t own_rows, std::int64_t rows, Collective& gang);

 private:
  at::Tensor flat_, counts_;
  std::vector<at::Tensor> means_, variances_;
};

}  // namespace retort::worker
