// What supervised training goes through: rows in epochs, each in an order of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/rng_stream.h"

namespace retort::worker {

class EpochBatches {
 public:
  // rows i64 [n], n >= 1, on the device where batches are wanted. Epoch e is Permutation(n) of
  // (seed, Purpose::batches, e, lane). Batches of `batch` rows, fewer where n is less; the last of an epoch is what
  // is left.
  EpochBatches(at::Tensor rows, std::int64_t batch, std::uint64_t seed, std::uint64_t lane = 0);

  [[nodiscard]] std::int64_t per_epoch() const { return per_epoch_; }
  // Rows of step `step`, counted from the first epoch: i64 [<= batch].
  [[nodiscard]] at::Tensor Of(std::int64_t step);

 private:
  at::Tensor rows_;
  std::int64_t batch_, per_epoch_;
  std::uint64_t seed_, lane_;
  std::int64_t epoch_ = -1;  // of order_
  at::Tensor order_;
};

}  // namespace retort::worker
