#include "worker/distill/candidates.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "experiments/spec/status.h"

namespace retort::worker {

at::Tensor TopCandidates(const at::Tensor& scores, std::int64_t k) {
  RETORT_CHECK(k >= 1 && k <= scores.size(1));
  const at::Tensor order = at::argsort(scores.detach(), /*stable=*/true, /*dim=*/1, /*descending=*/true);
  return at::zeros(scores.sizes(), scores.options().dtype(at::kBool)).scatter_(1, order.narrow(1, 0, k), true);
}

at::Tensor LikelyCandidates(const at::Tensor& probabilities, double threshold, std::int64_t least) {
  return probabilities.detach().gt(threshold).logical_or_(TopCandidates(probabilities, least));
}

at::Tensor CandidatesOf(const TrialSpec& spec, const at::Tensor& logits) {
  if (spec.top_k > 0 && spec.threshold == 0) return TopCandidates(logits, spec.top_k);
  const double threshold = spec.threshold > 0 ? spec.threshold : 0.5 / static_cast<double>(logits.size(1));
  return LikelyCandidates(at::softmax(logits, 1), threshold, std::max<std::int64_t>(spec.top_k, 2));
}

}  // namespace retort::worker
