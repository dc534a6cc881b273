#include "worker/noise/noise_kernels.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <span>

#include "worker/noise/keyed_normal.h"

namespace retort::worker::noise {
namespace {

constexpr std::size_t kLanes = 32;  // a warp's, which the kernels sum with

double Norm(const float* row, std::int64_t classes) {
  std::array<double, kLanes> squares{};
  for (std::int64_t c = 0; c < classes; ++c) {
    const double g = row[c];
    squares[static_cast<std::size_t>(c) % kLanes] += g * g;
  }
  for (std::size_t step = kLanes / 2; step > 0; step /= 2) {
    for (std::size_t lane = 0; lane < step; ++lane) squares[lane] += squares[lane + step];
  }
  return std::sqrt(squares[0]);
}

void Check(const at::Tensor& tensor) {
  RETORT_CHECK(tensor.is_contiguous() && tensor.scalar_type() == at::kFloat);
}

}  // namespace

Status HostNoise::FillNormal(const NoiseKey& key, StreamId stream, double scale, at::Tensor& out) {
  Check(out);
  at::Tensor here = out.is_cpu() ? out : at::empty(out.sizes(), at::kFloat);
  noise::FillNormal(key, stream, 0, scale,
                    std::span(here.data_ptr<float>(), static_cast<std::size_t>(here.numel())));
  if (!out.is_cpu()) out.copy_(here);
  return {};
}

Status HostNoise::NormaliseAndNoise(const at::Tensor& gradient, double bound, double floor, double noise_std,
                                    const NoiseKey& key, StreamId stream, at::Tensor& values) {
  Check(gradient);
  Check(values);
  RETORT_CHECK(gradient.dim() == 2 && gradient.sizes() == values.sizes());
  const at::Tensor from = gradient.cpu();
  at::Tensor here = values.is_cpu() ? values : at::empty(values.sizes(), at::kFloat);
  RETORT_RETURN_IF_ERROR(FillNormal(key, stream, noise_std, here));
  const std::int64_t classes = from.size(1);
  const float* g = from.const_data_ptr<float>();
  float* value = here.data_ptr<float>();
  for (std::int64_t row = 0; row < from.size(0); ++row, g += classes, value += classes) {
    const auto factor = static_cast<float>(bound / (Norm(g, classes) + floor));
    for (std::int64_t c = 0; c < classes; ++c) value[c] = g[c] * factor + value[c];
  }
  if (!values.is_cpu()) values.copy_(here);
  return {};
}

}  // namespace retort::worker::noise
