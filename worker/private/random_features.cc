#include "worker/private/random_features.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>

#include <cmath>

#include "experiments/spec/status.h"

namespace retort::worker {

RandomFeatures::RandomFeatures(std::int64_t features, std::int64_t inputs, double bandwidth,
                               const RngStream& stream, at::Device device) {
  RETORT_CHECK(features >= 2 && features % 2 == 0 && inputs > 0 && bandwidth > 0);
  frequencies_ = NormalTensor({features / 2, inputs}, 1 / std::sqrt(bandwidth), stream).to(device);
}

at::Tensor RandomFeatures::Of(const at::Tensor& x) const {
  const at::Tensor phase = at::matmul(x.reshape({x.size(0), -1}), frequencies_.t());
  return at::cat({phase.cos(), phase.sin()}, 1) * (1 / std::sqrt(static_cast<double>(frequencies_.size(0))));
}

}  // namespace retort::worker
