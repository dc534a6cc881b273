#include "worker/distill/k_means.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cdist.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "experiments/spec/status.h"

namespace retort::worker {
namespace {

constexpr int kRounds = 50;

// f32 [n]: squared distances of all points to one.
at::Tensor DistancesTo(const at::Tensor& points, const at::Tensor& centre) {
  return (points - centre).square().sum(1).contiguous();
}

// The first row at which the running sum of `weights` f32 [n] passes `share` of the whole.
std::int64_t AtShare(const at::Tensor& weights, double share) {
  const auto* weight = weights.const_data_ptr<float>();
  double total = 0, sum = 0;
  for (std::int64_t i = 0; i < weights.numel(); ++i) total += static_cast<double>(weight[i]);
  for (std::int64_t i = 0; i < weights.numel(); ++i)
    if ((sum += static_cast<double>(weight[i])) > share * total) return i;
  return 0;  // all points are centres
}

// f32 [k, d]: a row at random, then each with probability by its squared distance to the nearest so far.
at::Tensor FirstCentres(const at::Tensor& points, std::int64_t k, const RngStream& stream) {
  std::vector<at::Tensor> centres = {points[stream.Below(0, points.size(0))]};
  at::Tensor nearest = DistancesTo(points, centres[0]);
  while (static_cast<std::int64_t>(centres.size()) < k) {
    const std::int64_t row = AtShare(nearest, stream.Uniform(centres.size()));
    centres.push_back(points[row]);
    nearest = nearest.minimum(DistancesTo(points, centres.back()));
  }
  return at::stack(centres);
}

}  // namespace

std::vector<std::int64_t> KMeansClusters(const at::Tensor& points, std::int64_t k, const RngStream& stream) {
  const std::int64_t n = points.size(0);
  if (n == 0) return {};
  RETORT_CHECK(k >= 1 && k <= n);
  at::Tensor centres = FirstCentres(points, k, stream), cluster;
  for (int round = 0; round < kRounds; ++round) {
    const at::Tensor now = at::cdist(points, centres, 2, /*compute_mode=*/2).argmin(1);
    if (cluster.defined() && now.equal(cluster)) break;
    cluster = now;
    at::Tensor sums = at::zeros_like(centres), sizes = at::zeros({k, 1}, centres.options());
    sums.index_add_(0, cluster, points);
    sizes.index_add_(0, cluster, at::ones({n, 1}, points.options()));
    centres = at::where(sizes > 0, sums / sizes.clamp_min(1), centres);
  }
  const at::Tensor flat = cluster.contiguous();
  const auto* c = flat.const_data_ptr<std::int64_t>();
  return {c, c + n};
}

}  // namespace retort::worker
