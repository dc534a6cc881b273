// Which pictures a trial has asked about: fresh noise on an answer that was given before would tell more of it than one answer.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "worker/train_state.h"

namespace retort::worker {

class AskedPictures {
 public:
  // No more rows than the capacity in all.
  explicit AskedPictures(std::int64_t capacity);
  // bool [rows] on the CPU: the pictures [rows, ...] that were asked about before, or stand earlier among these, byte for
  // byte. By digests of 64 bits: of two that differ a later one may be taken for the other.
  [[nodiscard]] at::Tensor Again(const at::Tensor& pictures);
  // Those of the newest Again were answered. A step that ends before that is begun anew, and asks about them again.
  void Remember();
  void Register(TrainState& state, const std::string& prefix);

 private:
  at::Tensor digests_;  // i64 [capacity], on the CPU
  std::int64_t rows_ = 0, known_ = 0;
  std::unordered_set<std::int64_t> asked_;  // of the first known_ rows
  std::vector<std::int64_t> newest_;
};

}  // namespace retort::worker
