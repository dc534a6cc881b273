#include "worker/data/picture_mixes.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

#include "experiments/spec/status.h"

namespace retort::worker {
namespace {

// Where a box that covers `share` of `extent` pixels begins, and how many it has.
struct Span {
  std::int64_t first, count;
};

Span SpanOf(std::int64_t extent, double share, double place) {
  const auto count = std::clamp<std::int64_t>(std::llround(static_cast<double>(extent) * share), 0, extent);
  const auto first = static_cast<std::int64_t>(place * static_cast<double>(extent - count + 1));
  return {std::min(first, extent - count), count};
}

void Patch(at::Tensor picture, const at::Tensor& other, const RngStream& lane) {
  const double side = std::sqrt(lane.Uniform(1));
  const Span rows = SpanOf(picture.size(1), side, lane.Uniform(2)), columns = SpanOf(picture.size(2), side, lane.Uniform(3));
  const auto box = [&](const at::Tensor& of) {
    return of.narrow(1, rows.first, rows.count).narrow(2, columns.first, columns.count);
  };
  box(picture).copy_(box(other));
}

}  // namespace

at::Tensor Mixed(const at::Tensor& a, const at::Tensor& b, const RowStream& rows) {
  RETORT_CHECK(a.sizes() == b.sizes() && a.dim() == 4);
  const at::Tensor mixed = a.clone();
  for (std::int64_t i = 0; i < a.size(0); ++i) {
    const RngStream lane = rows.Lane(i);
    switch (lane.Below(0, 3)) {
      case 0:
        break;
      case 1:
        mixed[i].lerp_(b[i], lane.Uniform(1));
        break;
      default:
        Patch(mixed[i], b[i], lane);
    }
  }
  return mixed;
}

}  // namespace retort::worker
