#include "worker/distill/label_prior.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "experiments/spec/status.h"

namespace retort::worker {
namespace {

// Classes by falling prior, equal ones in order: values and i64 [rows, classes].
std::tuple<at::Tensor, at::Tensor> Ranked(const at::Tensor& prior) {
  return prior.sort(/*stable=*/std::optional<bool>(true), /*dim=*/1, /*descending=*/true);
}

}  // namespace

at::Tensor BestCandidates(const at::Tensor& prior, double epsilon0) {
  const auto [sorted, classes] = Ranked(prior.to(at::kDouble));
  const at::Tensor others = at::arange(prior.size(1), sorted.options());  // k - 1
  // e^e0 / (e^e0 + k - 1), without overflow.
  const at::Tensor kept = (others * std::exp(-epsilon0) + 1).reciprocal();
  const at::Tensor best = (sorted.cumsum(1) * kept).argmax(1, true);
  const at::Tensor chosen = at::arange(prior.size(1), best.options()).unsqueeze(0) <= best;
  return at::zeros_like(chosen).scatter(1, classes, chosen);
}

at::Tensor AmongBest(const at::Tensor& prior, const at::Tensor& labels, std::int64_t count) {
  RETORT_CHECK(count >= 1 && count <= prior.size(1));
  const at::Tensor best = std::get<1>(Ranked(prior)).narrow(1, 0, count);
  return (best == labels.unsqueeze(1)).any(1);
}

at::Tensor LaplacePosterior(const at::Tensor& noisy, const at::Tensor& log_prior, double scale) {
  RETORT_CHECK(scale > 0);
  // |noisy - onehot(c)|_1 is, up to a constant of the row, |noisy_c - 1| - |noisy_c|.
  const at::Tensor evidence = (noisy.abs() - (noisy - 1).abs()) / scale;
  return at::softmax(evidence + log_prior, 1);
}

}  // namespace retort::worker
