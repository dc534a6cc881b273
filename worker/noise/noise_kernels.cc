#include "worker/noise/noise_kernels.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "worker/noise/lattice_normal.h"
#include "worker/noise/lattice_pair.h"

namespace retort::worker::noise {
namespace {

constexpr std::size_t kLanes = 32;  // a warp's, which the kernels sum with

// The sum of value(c)^2 over a row.
template <typename Value>
double SquaredNorm(std::int64_t classes, const Value& value) {
  std::array<double, kLanes> squares{};
  for (std::int64_t c = 0; c < classes; ++c) {
    const double v = value(c);
    squares[static_cast<std::size_t>(c) % kLanes] += v * v;
  }
  for (std::size_t step = kLanes / 2; step > 0; step /= 2) {
    for (std::size_t lane = 0; lane < step; ++lane) squares[lane] += squares[lane + step];
  }
  return squares[0];
}

// What a row is multiplied by before it is rounded; 0: the row counts as zeros.
double Factor(const float* row, std::int64_t classes, const LatticeRows& rows) {
  const double norm = std::sqrt(SquaredNorm(classes, [&](std::int64_t c) { return static_cast<double>(row[c]); }));
  const double factor = rows.target / (norm + rows.floor);
  const double rounded =
      SquaredNorm(classes, [&](std::int64_t c) { return NearestWhole(static_cast<double>(row[c]) * factor); });
  return rounded <= LongestSquare(rows.longest) ? factor : 0.0;
}

void Check(const at::Tensor& tensor, at::ScalarType type) {
  RETORT_CHECK(tensor.is_contiguous() && tensor.scalar_type() == type);
}

std::span<double> Numbers(at::Tensor& tensor) {
  return {tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

Status HostNoise::FillLatticeNormal(const NoiseKey& key, StreamId stream, double scale, at::Tensor& out) {
  Check(out, at::kDouble);
  at::Tensor here = out.is_cpu() ? out : at::empty(out.sizes(), at::kDouble);
  noise::FillLatticeNormal(key, stream, 0, scale, Numbers(here));
  if (!out.is_cpu()) out.copy_(here);
  return {};
}

Status HostNoise::NormaliseAndNoise(const at::Tensor& gradient, const LatticeRows& rows, const NoiseKey& key,
                                    StreamId stream, at::Tensor& values) {
  Check(gradient, at::kFloat);
  Check(values, at::kFloat);
  RETORT_CHECK(gradient.dim() == 2 && gradient.sizes() == values.sizes());
  const at::Tensor from = gradient.cpu();
  at::Tensor here = values.is_cpu() ? values : at::empty(values.sizes(), at::kFloat);
  at::Tensor noise = at::empty(values.sizes(), at::kDouble);
  RETORT_RETURN_IF_ERROR(FillLatticeNormal(key, stream, rows.scale, noise));
  const std::int64_t classes = from.size(1);
  const float* g = from.const_data_ptr<float>();
  const double* drawn = noise.const_data_ptr<double>();
  float* value = here.data_ptr<float>();
  for (std::int64_t row = 0; row < from.size(0); ++row, g += classes, drawn += classes, value += classes) {
    const double factor = Factor(g, classes, rows);
    for (std::int64_t c = 0; c < classes; ++c) {
      const double kept = factor == 0 ? 0.0 : NearestWhole(static_cast<double>(g[c]) * factor);
      value[c] = static_cast<float>(rows.step * (kept + drawn[c]));
    }
  }
  if (!values.is_cpu()) values.copy_(here);
  return {};
}

}  // namespace retort::worker::noise
