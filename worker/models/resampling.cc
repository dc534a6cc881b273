#include "worker/models/resampling.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/replication_pad2d.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include <vector>

namespace retort::worker {
namespace {

constexpr std::int64_t kDown = 2, kAcross = 3;

// `values` [n] along dimension `dim` of planes.
at::Tensor Along(const at::Tensor& values, std::int64_t dim) {
  return dim == kDown ? values.view({1, 1, -1, 1}) : values.view({1, 1, 1, -1});
}

at::Tensor DoubledAlong(const at::Tensor& planes, std::int64_t dim) {
  const std::int64_t from = planes.size(dim), to = 2 * from;
  const double apart = static_cast<double>(from - 1) / static_cast<double>(to - 1);
  const at::Tensor place = at::arange(to, at::device(planes.device()).dtype(at::kDouble)) * apart;
  const at::Tensor first = place.floor().to(at::kLong).clamp_max(from - 1);
  const at::Tensor second = (first + 1).clamp_max(from - 1);
  const at::Tensor share = Along((place - first).to(planes.scalar_type()), dim);
  return planes.index_select(dim, first) * (1 - share) + planes.index_select(dim, second) * share;
}

at::Tensor PooledAlong(const at::Tensor& planes, std::int64_t dim, std::int64_t to) {
  const std::int64_t from = planes.size(dim);
  if (from == to) return planes;
  std::vector<at::Tensor> means;
  for (std::int64_t k = 0; k < to; ++k) {
    const std::int64_t first = k * from / to, past = ((k + 1) * from + to - 1) / to;
    means.push_back(planes.narrow(dim, first, past - first).mean(dim, /*keepdim=*/true));
  }
  return at::cat(means, dim);
}

at::Tensor BorderedAlong(const at::Tensor& planes, std::int64_t dim, std::int64_t before, std::int64_t after) {
  const std::int64_t size = planes.size(dim);
  const at::Tensor places = at::arange(-before, size + after, at::device(planes.device()).dtype(at::kLong));
  return planes.index_select(dim, places.clamp(0, size - 1));
}

}  // namespace

at::Tensor step_by_step::DoubleBilinear(const at::Tensor& planes) {
  return DoubledAlong(DoubledAlong(planes, kAcross), kDown);
}

at::Tensor step_by_step::PoolTo(const at::Tensor& planes, std::int64_t height, std::int64_t width) {
  return PooledAlong(PooledAlong(planes, kAcross, width), kDown, height);
}

at::Tensor step_by_step::RepeatBorder(const at::Tensor& planes, const std::array<std::int64_t, 4>& border) {
  return BorderedAlong(BorderedAlong(planes, kAcross, border[0], border[1]), kDown, border[2], border[3]);
}

at::Tensor DoubleBilinear(const at::Tensor& planes) {
  if (planes.is_cuda()) return step_by_step::DoubleBilinear(planes);
  return at::upsample_bilinear2d(planes, {2 * planes.size(kDown), 2 * planes.size(kAcross)},
                                 /*align_corners=*/true);
}

at::Tensor PoolTo(const at::Tensor& planes, std::int64_t height, std::int64_t width) {
  if (planes.is_cuda()) return step_by_step::PoolTo(planes, height, width);
  return at::adaptive_avg_pool2d(planes, {height, width});
}

at::Tensor RepeatBorder(const at::Tensor& planes, const std::array<std::int64_t, 4>& border) {
  if (planes.is_cuda()) return step_by_step::RepeatBorder(planes, border);
  return at::replication_pad2d(planes, border);
}

}  // namespace retort::worker
