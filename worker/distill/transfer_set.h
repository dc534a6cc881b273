// The newest batches of images with the annotations released for them: what the student is taught on.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "worker/models/network.h"
#include "worker/tensors/rng_streams.h"
#include "worker/tensors/train_state.h"

namespace retort::worker {

// Ring of `batches` x `rows` images; the oldest batch is overwritten.
class TransferSet {
 public:
  TransferSet(std::int64_t batches, std::int64_t rows, ImageShape image, std::int64_t classes,
              at::Device device = at::kCPU);
  // Holds where the images are, i64 [n], instead of the images: for those that shall not be copied.
  [[nodiscard]] static TransferSet OfPlaces(std::int64_t batches, std::int64_t rows, std::int64_t classes,
                                            at::Device device = at::kCPU);

  // images f32 [n, C, H, W]; targets f32 [n, classes]; n = rows, or fewer in the last batch that is pushed.
  void Push(const at::Tensor& images, const at::Tensor& targets);
  // Draws `count` rows uniformly, with replacement, from everything stored: where they lie, i64 [count] on the CPU. At
  // least one batch is stored.
  [[nodiscard]] at::Tensor Draw(std::int64_t count, const RngStream& stream) const;
  // The same, each row from a class that is drawn first, evenly among those that are the largest of some row's targets.
  [[nodiscard]] at::Tensor DrawEvenly(std::int64_t count, const RngStream& stream) const;
  // Rows by where they lie: i64 [n], on any device, each in 0..stored() - 1.
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> Take(const at::Tensor& rows) const;
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }  // rows
  [[nodiscard]] std::int64_t stored() const { return stored_; }      // rows
  // f32 [stored(), C, H, W] (or places), as they were pushed; in the order of the pushes until one was overwritten.
  [[nodiscard]] at::Tensor images() const { return images_.narrow(0, 0, stored_); }
  void Register(TrainState& state, const std::string& prefix);

 private:
  TransferSet(std::int64_t batches, std::int64_t rows, at::Tensor images, std::int64_t classes);
  std::int64_t rows_, capacity_;
  std::int64_t stored_ = 0;
  at::Tensor images_, targets_;
  at::Tensor next_;                                          // i64 [1], on the CPU: row where the next batch goes
  mutable std::vector<std::vector<std::int64_t>> by_class_;  // rows; empty where they are not known
};

}  // namespace retort::worker
