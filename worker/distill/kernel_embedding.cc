#include "worker/distill/kernel_embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/one_hot.h>

#include <cmath>

#include "experiments/base/status.h"

namespace retort::worker {

RandomFeatures::RandomFeatures(std::int64_t features, std::int64_t inputs, double bandwidth, const RngStream& stream,
                               at::Device device) {
  RETORT_CHECK(features >= 2 && features % 2 == 0 && inputs > 0 && bandwidth > 0);
  frequencies_ = DrawNormalTensor({features / 2, inputs}, 1 / std::sqrt(bandwidth), stream).to(device);
}

at::Tensor RandomFeatures::Of(const at::Tensor& x) const {
  const at::Tensor phase = at::matmul(x.reshape({x.size(0), -1}), frequencies_.t());
  return at::cat({phase.cos(), phase.sin()}, 1) * (1 / std::sqrt(static_cast<double>(frequencies_.size(0))));
}

Result<EmbeddingGradient> MatchEmbedding(const at::Tensor& features, const at::Tensor& labels, const at::Tensor& target,
                                         std::int64_t rows, Collective& gang) {
  const at::NoGradGuard no_grad;
  const at::Tensor hot = at::one_hot(labels, target.size(0)).to(at::kFloat) / static_cast<double>(rows);
  at::Tensor made = at::mm(hot.t(), features.detach());
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(made));
  const at::Tensor apart = made - target;
  return EmbeddingGradient{at::mm(hot, apart) * 2, apart.square().sum(at::kDouble).item<double>()};
}

}  // namespace retort::worker
