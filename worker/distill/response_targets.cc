#include "worker/distill/response_targets.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "experiments/base/status.h"

namespace retort::worker {

at::Tensor SelectTopCandidates(const at::Tensor& scores, std::int64_t k) {
  RETORT_CHECK(k >= 1 && k <= scores.size(1));
  const at::Tensor order = at::argsort(scores.detach(), /*stable=*/true, /*dim=*/1, /*descending=*/true);
  return at::zeros(scores.sizes(), scores.options().dtype(at::kBool)).scatter_(1, order.narrow(1, 0, k), true);
}

at::Tensor SelectLikelyCandidates(const at::Tensor& probabilities, double threshold, std::int64_t least) {
  return probabilities.detach().gt(threshold).logical_or_(SelectTopCandidates(probabilities, least));
}

at::Tensor ChooseCandidates(const TrialSpec& spec, const at::Tensor& logits) {
  if (spec.release.top_k > 0 && spec.release.threshold == 0) return SelectTopCandidates(logits, spec.release.top_k);
  const double threshold =
      spec.release.threshold > 0 ? spec.release.threshold : 0.5 / static_cast<double>(logits.size(1));
  return SelectLikelyCandidates(at::softmax(logits, 1), threshold, std::max<std::int64_t>(spec.release.top_k, 2));
}

namespace {

constexpr double kMinAnswerProbability = 1e-30;  // of a probability that is divided by

}  // namespace

at::Tensor AnnotateResponses(const at::Tensor& answers, const at::Tensor& candidates, std::int64_t members) {
  return (answers.to(at::kFloat) / static_cast<double>(members)).masked_fill_(candidates.logical_not(), -1);
}

at::Tensor ComputeExpectedClasses(const at::Tensor& log_p, const at::Tensor& annotation, double epsilon0) {
  const at::NoGradGuard no_grad;
  const at::Tensor inside = annotation.ge(0).to(at::kFloat), shares = annotation.clamp_min(0), p = log_p.exp();
  const at::Tensor k = inside.sum(1, true);
  // Q(y | r): `kept` for r = y, `other` for another candidate r, 1 / k for r outside.
  const double shrink = std::exp(-epsilon0);
  const at::Tensor kept = 1 / (1 + (k - 1) * shrink), other = kept * shrink;
  const at::Tensor in = (p * inside).sum(1, true), out = (p * (1 - inside)).sum(1, true);
  const at::Tensor seen =
      (p * (kept - other) + in * other + out / k).clamp_min(kMinAnswerProbability);  // sum_s p_s Q(y | s)
  const at::Tensor weight = shares / seen;
  return p * (weight * (kept - other) + weight.sum(1, true) * (inside * other + (1 - inside) / k));
}

namespace {

// Classes by falling prior, equal ones in order: values and i64 [rows, classes].
std::tuple<at::Tensor, at::Tensor> Ranked(const at::Tensor& prior) {
  return prior.sort(/*stable=*/std::optional<bool>(true), /*dim=*/1, /*descending=*/true);
}

}  // namespace

at::Tensor ChooseBestCandidates(const at::Tensor& prior, double epsilon0) {
  const auto [sorted, classes] = Ranked(prior.to(at::kDouble));
  const at::Tensor others = at::arange(prior.size(1), sorted.options());  // k - 1
  // e^e0 / (e^e0 + k - 1), without overflow.
  const at::Tensor kept = (others * std::exp(-epsilon0) + 1).reciprocal();
  const at::Tensor best = (sorted.cumsum(1) * kept).argmax(1, true);
  const at::Tensor chosen = at::arange(prior.size(1), best.options()).unsqueeze(0) <= best;
  return at::zeros_like(chosen).scatter(1, classes, chosen);
}

at::Tensor IsAmongBest(const at::Tensor& prior, const at::Tensor& labels, std::int64_t count) {
  RETORT_CHECK(count >= 1 && count <= prior.size(1));
  const at::Tensor best = std::get<1>(Ranked(prior)).narrow(1, 0, count);
  return (best == labels.unsqueeze(1)).any(1);
}

at::Tensor ComputeLaplacePosterior(const at::Tensor& noisy, const at::Tensor& log_prior, double scale) {
  RETORT_CHECK(scale > 0);
  // |noisy - onehot(c)|_1 is, up to a constant of the row, |noisy_c - 1| - |noisy_c|.
  const at::Tensor evidence = (noisy.abs() - (noisy - 1).abs()) / scale;
  return at::softmax(evidence + log_prior, 1);
}

}  // namespace retort::worker
