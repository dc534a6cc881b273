// What was released for which query, for a mechanism that an interrupted attempt leaves without its memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>

#include "worker/train_state.h"

namespace retort::worker {

class ReleasedRows {
 public:
  ReleasedRows(std::int64_t capacity, std::int64_t classes, at::ScalarType type);
  // inputs [rows, ...] as queried, values [rows, classes] as they were released; no more rows than the capacity in all.
  void Append(const at::Tensor& inputs, const at::Tensor& values);
  // Those appended, or loaded, since the last call: digests u8 [rows, 32] (release::QueryDigests) and values.
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> TakeNew();
  void Register(TrainState& state, const std::string& prefix);

 private:
  at::Tensor digests_, values_;          // on the CPU
  std::int64_t rows_ = 0, taken_ = 0;
};

}  // namespace retort::worker
