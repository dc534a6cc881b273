#include "worker/distill/spectral_places.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/distill/neighbour_graph.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kRows = 512;           // whose cosines with all others are held at once, ...
constexpr std::int64_t kNumbers = 1LL << 24;  // unless their neighbours' places are more numbers than this
constexpr double kLeastNorm = 1e-12;

at::Tensor Norms(const at::Tensor& rows) { return rows.norm(2, at::IntArrayRef{1}, true); }

}  // namespace

at::Tensor PlacesAmong(const at::Tensor& features, const at::Tensor& others, const at::Tensor& basis,
                       std::int64_t neighbours) {
  RETORT_CHECK(features.dim() == 2 && others.dim() == 2 && features.size(1) == others.size(1));
  RETORT_CHECK(basis.dim() == 2 && basis.size(0) == others.size(0) && others.size(0) >= 1 && neighbours >= 1);
  const at::NoGradGuard no_grad;
  const at::Tensor to = others / Norms(others).clamp_min(kLeastNorm);
  const std::int64_t near = std::min(neighbours, others.size(0));
  std::vector<at::Tensor> places = {at::empty({0, basis.size(1)}, at::kFloat)};
  const std::int64_t chunk = std::clamp<std::int64_t>(kNumbers / std::max<std::int64_t>(near * basis.size(1), 1), 1, kRows);
  for (std::int64_t first = 0; first < features.size(0); first += chunk) {
    const at::Tensor rows = features.narrow(0, first, std::min(chunk, features.size(0) - first));
    const at::Tensor norms = Norms(rows);
    const auto [cosines, nearest] = at::matmul(rows / norms.clamp_min(kLeastNorm), to.t()).cpu().topk(near, 1);
    const at::Tensor weights = ((cosines - cosines.narrow(1, 0, 1)) * kNeighbourSharpness).exp() * (norms > 0).cpu();
    const at::Tensor of_nearest = basis.index_select(0, nearest.flatten()).view({rows.size(0), near, -1});
    const at::Tensor sums = (of_nearest * weights.unsqueeze(2)).sum(1);
    places.push_back(sums / Norms(sums).clamp_min(kLeastNorm));
  }
  return at::cat(places);
}

}  // namespace retort::worker
