// A mean of parameters over the steps, the later ones weighing more.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker {

class RunningMean {
 public:
  // The mean is a copy of `start` at first. weight: of the past, in [0, 1).
  RunningMean(const at::Tensor& start, double weight);
  // After `done` steps, which led to `values` of start's shape: mean = a mean + (1 - a) values with
  // a = min(weight, (1 + done) / (10 + done)), so that the start is soon forgotten.
  void Add(const at::Tensor& values, std::int64_t done);
  [[nodiscard]] const at::Tensor& mean() const { return mean_; }  // updated in place

 private:
  at::Tensor mean_;
  double weight_;
};

}  // namespace retort::worker
