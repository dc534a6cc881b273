#include "worker/distill/embedding_match.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/one_hot.h>

namespace retort::worker {

Result<EmbeddingGradient> MatchEmbedding(const at::Tensor& features, const at::Tensor& labels,
                                         const at::Tensor& target, std::int64_t rows, Collective& gang) {
  const at::NoGradGuard no_grad;
  const at::Tensor hot = at::one_hot(labels, target.size(0)).to(at::kFloat) / static_cast<double>(rows);
  at::Tensor made = at::mm(hot.t(), features.detach());
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(made));
  const at::Tensor apart = made - target;
  return EmbeddingGradient{at::mm(hot, apart) * 2, apart.square().sum(at::kDouble).item<double>()};
}

}  // namespace retort::worker
