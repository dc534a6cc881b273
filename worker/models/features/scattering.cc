#include "worker/models/features/scattering.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/fft_fft2.h>
#include <ATen/ops/fft_fftfreq.h>
#include <ATen/ops/fft_ifft2.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/view_as_real.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "worker/models/features/orientations.h"
#include "worker/models/resampling.h"

namespace retort::worker {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr std::int64_t kBorder = kScatteringBorder;
constexpr double kWidth = 0.8;    // deviation of the finest wavelet, in pixels
constexpr double kAverage = 1.6;  // of what averages

// The transform of a Morlet wavelet of scale 2^scale, f32 [height, width]: a Gaussian around its frequency, less
// as much of one around 0 as makes the mean vanish. Real, since the wavelet is symmetric.
at::Tensor Wavelet(std::int64_t height, std::int64_t width, int scale, double angle, double slant, at::Device device) {
  const auto options = at::device(device).dtype(at::kDouble);
  const double deviation = kWidth * (1 << scale), frequency = 0.75 * kPi / (1 << scale);
  const double c = std::cos(angle), s = std::sin(angle);
  // the Gaussian at (y, x), less `shift` along its own direction
  const auto gaussian = [&](const at::Tensor& y, const at::Tensor& x, double shift) {
    const at::Tensor along = x * c + y * s - shift, across = (y * c - x * s) * (1 / slant);
    return at::exp((along * along + across * across) * (-deviation * deviation / 2));
  };
  at::Tensor around = at::zeros({height, width}, options), mean = at::zeros({height, width}, options);
  for (int down = -1; down <= 1; ++down) {
    for (int across = -1; across <= 1; ++across) {
      const at::Tensor y = (at::fft_fftfreq(height, 1.0, options) + down).mul(2 * kPi).unsqueeze(1);
      const at::Tensor x = (at::fft_fftfreq(width, 1.0, options) + across).mul(2 * kPi).unsqueeze(0);
      around += gaussian(y, x, frequency);
      mean += gaussian(y, x, 0);
    }
  }
  return (around - mean * (around[0][0] / mean[0][0])).to(at::kFloat);
}

// Maps [rows, planes, height, width], sampled `apart` pixels apart, at the places: [rows, planes, down, across].
struct Places {
  std::int64_t down = 0, across = 0;
  [[nodiscard]] at::Tensor Of(const at::Tensor& maps, std::int64_t apart) const {
    const at::Tensor rows = ComputeScatteringAverages(down, maps.size(-2), apart, maps.device());
    const at::Tensor columns = ComputeScatteringAverages(across, maps.size(-1), apart, maps.device());
    return at::matmul(rows, at::matmul(maps, columns.t()));
  }
};

at::Tensor Part(const at::Tensor& of, std::int64_t down, std::int64_t across) {
  const std::int64_t height = of.size(-3) / 2, width = of.size(-2) / 2;
  return of.narrow(-3, down * height, height).narrow(-2, across * width, width);
}

// Transforms are held as pairs of reals, [..., height, width, 2]; so are wavelets, which are real, both alike.
at::Tensor Modulus(const at::Tensor& transform) { return at::fft_ifft2(at::view_as_complex(transform)).abs(); }

at::Tensor Transform(const at::Tensor& maps) { return at::view_as_real(at::fft_fft2(maps)); }

// The modulus of what a wavelet lets through, at every second sample down and across: those samples' transform is the
// mean of the quarters of the whole one's.
at::Tensor HalvedModulus(const at::Tensor& transform, const at::Tensor& wavelets) {
  at::Tensor sum = Part(transform, 0, 0) * Part(wavelets, 0, 0);
  for (const auto& [down, across] : {std::pair(0, 1), std::pair(1, 0), std::pair(1, 1)})
    sum = at::addcmul(sum, Part(transform, down, across), Part(wavelets, down, across));
  return Modulus(sum) * 0.25;
}

at::Tensor Paired(const at::Tensor& wavelets) { return at::stack({wavelets, wavelets}, -1); }

// Without the norm.
at::Tensor Averaged(const at::Tensor& wide, const Places& places, const at::Tensor& fine, const at::Tensor& coarse) {
  const at::Tensor transform = Transform(wide).unsqueeze(2);  // [rows, channels, 1, height, width, 2]
  const at::Tensor first = Modulus(transform * fine), second = HalvedModulus(transform, coarse);
  // [rows, channels, orientations, 1, height, width, 2]
  const at::Tensor both = HalvedModulus(Transform(first).unsqueeze(3), coarse).flatten(2, 3);
  const at::Tensor all =
      at::cat({places.Of(wide.unsqueeze(2), 1), places.Of(first, 1), places.Of(second, 2), places.Of(both, 2)}, 2);
  return all.flatten(1);
}

}  // namespace

at::Tensor MakeScatteringWavelets(PlaneExtents plane, int scale, std::int64_t orientations, at::Device device) {
  std::vector<at::Tensor> wavelets;
  for (std::int64_t k = 0; k < orientations; ++k)
    wavelets.push_back(Wavelet(plane.height, plane.width, scale,
                               static_cast<double>(k) * kPi / static_cast<double>(orientations),
                               4.0 / static_cast<double>(orientations), device));
  return at::stack(wavelets);
}

at::Tensor ComputeScatteringAverages(std::int64_t places, std::int64_t samples, std::int64_t apart, at::Device device) {
  const auto options = at::device(device).dtype(at::kDouble);
  const double middle = static_cast<double>(kScatteringStride - 1) / 2 + kBorder;
  const at::Tensor centre = (at::arange(places, options) * kScatteringStride + middle).unsqueeze(1);
  const at::Tensor away = at::arange(samples, options).mul(apart).unsqueeze(0) - centre;
  const at::Tensor weights = at::exp(away * away * (-1 / (2 * kAverage * kAverage)));
  return (weights / weights.sum(1, true)).to(at::kFloat);
}

at::Tensor ComputeScatteringFeatures(const at::Tensor& images, std::int64_t orientations) {
  const at::Tensor planes = (images.size(1) == 3 ? ComputeOpponentColours(images) : images).contiguous();
  const std::int64_t height = planes.size(2), width = planes.size(3);
  const Places places{(height + kScatteringStride - 1) / kScatteringStride,
                      (width + kScatteringStride - 1) / kScatteringStride};
  const at::Tensor wide = RepeatBorder(  // to an even number of pixels
      planes, {kBorder, kBorder + width % 2, kBorder, kBorder + height % 2});
  const PlaneExtents extents{wide.size(2), wide.size(3)};
  const at::Tensor fine = Paired(MakeScatteringWavelets(extents, 0, orientations, wide.device())),
                   coarse = Paired(MakeScatteringWavelets(extents, 1, orientations, wide.device()));
  constexpr std::int64_t kValuesAtOnce = 6 * 36 * 36;
  return NormaliseRows(
      ComputeInParts(wide, kValuesAtOnce, [&](const at::Tensor& rows) { return Averaged(rows, places, fine, coarse); }),
      1);
}

}  // namespace retort::worker
