#include "worker/models/features/patches.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_eigh.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softshrink.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <tuple>

#include "experiments/base/status.h"
#include "worker/models/features/orientations.h"
#include "worker/models/resampling.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

constexpr double kZca = 0.1;  // added to the variance of every direction
constexpr std::int64_t kPatchesEach = 16, kClusterRounds = 10;
constexpr std::uint64_t kPlacesKey = 0x7061746368, kStartKey = 0x7374617274;  // public: the same for everybody

// [n * kPatchesEach, values], at places that are drawn for each image.
at::Tensor DrawPatches(const at::Tensor& pictures, std::int64_t extent) {
  const std::int64_t n = pictures.size(0), values = pictures.size(1) * extent * extent;
  const std::int64_t down = pictures.size(2) - extent + 1, across = pictures.size(3) - extent + 1;
  at::Tensor patches = at::empty({n * kPatchesEach, values}, at::kFloat);
  const RngStream places(kPlacesKey);
  for (std::int64_t i = 0; i < n * kPatchesEach; ++i) {
    const auto draw = static_cast<std::uint64_t>(2 * i);
    const at::Tensor patch = pictures[i / kPatchesEach]
                                 .narrow(1, places.Below(draw, down), extent)
                                 .narrow(2, places.Below(draw + 1, across), extent);
    patches[i].copy_(patch.reshape({values}));
  }
  return patches;
}

at::Tensor ContrastNormalised(const at::Tensor& patches) {
  const at::Tensor centred = patches - patches.mean(1, true);
  return centred / ComputeRoot((centred * centred).mean(1, true).add(kPatchFloor));
}

// f32 [values, values]
at::Tensor ComputeZca(const at::Tensor& centred) {
  const at::Tensor covariance = at::matmul(centred.t(), centred).to(at::kDouble) / static_cast<double>(centred.size(0));
  const auto [variances, directions] = at::linalg_eigh(covariance);
  return at::matmul(directions * (variances.clamp_min(0) + kZca).rsqrt(), directions.t()).to(at::kFloat);
}

// Directions f32 [count, values]: every patch counts for the one that it lies along most, on either side.
at::Tensor SphericalMeans(const at::Tensor& patches, std::int64_t count) {
  at::Tensor means = NormaliseRows(DrawNormalRows(count, patches.size(1), RngStream(kStartKey)), 1);
  for (std::int64_t round = 0; round < kClusterRounds; ++round) {
    at::Tensor sums = means.clone();  // a mean without any patch stays
    constexpr std::int64_t kPatchesAtOnce = 8192;
    for (std::int64_t first = 0; first < patches.size(0); first += kPatchesAtOnce) {
      const at::Tensor part = patches.narrow(0, first, std::min(kPatchesAtOnce, patches.size(0) - first));
      const at::Tensor along = at::matmul(part, means.t());
      const at::Tensor best = std::get<1>(along.abs().max(1, true));
      sums += at::matmul(at::zeros_like(along).scatter_(1, best, along.gather(1, best)).t(), part);
    }
    means = NormaliseRows(sums, 1);
  }
  return means;
}

at::Tensor Quarters(const at::Tensor& images, const at::Tensor& filters, const at::Tensor& offset, double threshold) {
  const std::int64_t extent = filters.size(2);
  const at::Tensor mean = at::avg_pool2d(images.mean(1, true), extent, 1);
  const at::Tensor square = at::avg_pool2d((images * images).mean(1, true), extent, 1);
  const at::Tensor variance = (square - mean * mean).clamp_min(0);
  const at::Tensor seen = at::conv2d(images, filters) * variance.add(kPatchFloor).rsqrt() - offset.view({1, -1, 1, 1});
  const at::Tensor beyond = at::softshrink(seen, threshold);
  const at::Tensor sum = PoolTo(beyond.abs(), 2, 2);
  const at::Tensor difference = PoolTo(beyond, 2, 2);
  return at::cat({sum + difference, sum - difference}, 1).flatten(1) * 0.5;
}

}  // namespace

PatchFilters FitPatchFilters(const at::Tensor& pictures, std::int64_t count, std::int64_t extent) {
  const at::NoGradGuard no_grad;
  const at::Tensor patches = ContrastNormalised(DrawPatches(pictures, extent));
  const at::Tensor mean = patches.mean(0), centred = patches - mean;
  const at::Tensor zca = ComputeZca(centred);
  const at::Tensor filters = at::matmul(SphericalMeans(at::matmul(centred, zca), count), zca);
  PatchFilters fitted;
  fitted.offset = at::matmul(filters, mean);
  fitted.filters = (filters - filters.mean(1, true)).view({count, pictures.size(1), extent, extent});
  return fitted;
}

at::Tensor ComputePatchFeatures(const at::Tensor& images, const at::Tensor& filters, const at::Tensor& offset,
                                double threshold) {
  constexpr std::int64_t kValuesAtOnce = 4 * 784;
  const auto quarters = [&](const at::Tensor& rows) { return Quarters(rows, filters, offset, threshold); };
  at::Tensor found = ComputeInParts(images, kValuesAtOnce, quarters);
  if (images.size(1) == 3) found = (found + ComputeInParts(images.flip(3), kValuesAtOnce, quarters)) * 0.5;
  return NormaliseRows(found, 1);
}

}  // namespace retort::worker
