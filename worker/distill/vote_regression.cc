#include "worker/distill/vote_regression.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <cmath>

#include "worker/private/ridge_heads.h"

namespace retort::worker {
namespace {

constexpr double kLeastSignal = 1e-3;  // over the noise, in variance
constexpr double kRounding = 1.0 / 12;  // variance that whole numbers have anyway

}  // namespace

Result<at::Tensor> RegressedVotes(const at::Tensor& features, const at::Tensor& released, double noise) {
  RETORT_CHECK(noise >= 0 && released.size(0) <= features.size(0));
  const at::NoGradGuard no_grad;
  const at::Tensor asked = features.narrow(0, 0, released.size(0));
  const at::Tensor votes = (released - released.mean(1, true)).to(at::kDouble);
  const double varied = votes.square().mean().item<double>() / std::max(noise * noise, kRounding);
  const double strength = asked.square().sum(1).mean().item<double>() / std::max(varied - 1, kLeastSignal);
  if (!(strength > 0 && std::isfinite(strength)))
    return UsageError("Votes cannot be regressed on features that are nothing, or where something is not finite.");
  const at::Tensor map = RidgeMap(asked, votes, strength);
  return at::matmul(features, map.to(features.device()).t());
}

}  // namespace retort::worker
