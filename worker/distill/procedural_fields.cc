// Pictures made of random fields: blobs, dead leaves, 1/f noise.
#include <ATen/TensorOperators.h>
#include <ATen/ops/fft_irfft2.h>
#include <ATen/ops/fft_rfft2.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "worker/distill/procedural_drawing.h"
#include "worker/rng_streams.h"

namespace retort::worker::drawing {
namespace {

constexpr double kUsualSide = 28;

// Keys' cubic kernel, a = -0.75.
double Cubic(double t) {
  constexpr double a = -0.75;
  t = std::abs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

// [side][grid]: what a value of the grid counts at a pixel.
std::vector<double> CubicWeights(std::int64_t grid, std::int64_t side) {
  std::vector<double> weights(static_cast<std::size_t>(side * grid), 0.0);
  for (std::int64_t i = 0; i < side; ++i) {
    const double at = (static_cast<double>(i) + 0.5) * static_cast<double>(grid) / static_cast<double>(side) - 0.5;
    const auto first = static_cast<std::int64_t>(std::floor(at)) - 1;
    for (std::int64_t k = first; k < first + 4; ++k) {
      const std::int64_t inside = std::clamp<std::int64_t>(k, 0, grid - 1);
      weights[static_cast<std::size_t>(i * grid + inside)] += Cubic(at - static_cast<double>(k));
    }
  }
  return weights;
}

struct Leaf {
  bool disc = true;
  double x = 0, y = 0, radius = 0, ratio = 1, cosine = 1, sine = 0;

  [[nodiscard]] bool Covers(double px, double py) const {
    const double dx = px - x, dy = py - y;
    if (disc) return dx * dx + dy * dy <= radius * radius;
    return std::abs(cosine * dx + sine * dy) <= radius && std::abs(cosine * dy - sine * dx) <= radius * ratio;
  }
};

// Radii of density r^-3 between the two bounds.
double PowerRadius(Numbers& numbers, double least, double most) {
  const double low = 1 / (most * most), high = 1 / (least * least);
  return 1 / std::sqrt(numbers.Uniform(low, high));
}

Leaf DrawLeaf(Numbers& numbers, double side) {
  Leaf leaf;
  leaf.disc = numbers.Below(2) == 0;
  leaf.x = numbers.Uniform(0, side - 1);
  leaf.y = numbers.Uniform(0, side - 1);
  leaf.radius = PowerRadius(numbers, side / 20, side / 2);
  leaf.ratio = numbers.Uniform(0.3, 1);
  const double angle = numbers.Uniform(0, std::numbers::pi);
  leaf.cosine = std::cos(angle);
  leaf.sine = std::sin(angle);
  return leaf;
}

// A colour around one of the picture's own.
std::vector<float> DrawColour(Numbers& numbers, std::int64_t channels) {
  std::vector<float> colour(static_cast<std::size_t>(channels));
  const double light = numbers.Uniform(0, 1);
  for (float& value : colour)
    value = static_cast<float>(std::clamp(0.6 * light + 0.4 * numbers.Uniform(0, 1), 0.0, 1.0));
  return colour;
}

// Of those pixels that no leaf before it covers. Returns how many it took.
std::int64_t Show(const Leaf& leaf, const std::vector<float>& colour, Canvas& canvas, std::vector<char>& covered) {
  const double reach = leaf.radius * std::numbers::sqrt2, last = static_cast<double>(canvas.side - 1);
  const auto bound = [last](double at) { return static_cast<std::int64_t>(std::clamp(at, 0.0, last)); };
  std::int64_t taken = 0;
  for (std::int64_t y = bound(leaf.y - reach); y <= bound(leaf.y + reach); ++y) {
    for (std::int64_t x = bound(leaf.x - reach); x <= bound(leaf.x + reach); ++x) {
      const std::int64_t at = y * canvas.side + x;
      char& hidden = covered[static_cast<std::size_t>(at)];
      if (hidden != 0 || !leaf.Covers(static_cast<double>(x), static_cast<double>(y))) continue;
      hidden = 1;
      ++taken;
      for (std::int64_t c = 0; c < canvas.channels; ++c)
        canvas.pixels[c * canvas.side * canvas.side + at] = colour[static_cast<std::size_t>(c)];
    }
  }
  return taken;
}

}  // namespace

void Blobs(Numbers numbers, Canvas canvas) {
  constexpr std::array<std::int64_t, 4> kGrids = {4, 7, 10, 14};
  const std::int64_t grid = kGrids.at(static_cast<std::size_t>(numbers.Below(4))), side = canvas.side;
  const double scale = static_cast<double>(side) / kUsualSide;
  const double level = numbers.Uniform(0, 1.5), radius = (10.5 + numbers.Uniform(-1, 1)) * scale;
  std::vector<double> field(static_cast<std::size_t>(grid * grid));
  for (double& value : field) value = numbers.Normal();
  const std::vector<double> weights = CubicWeights(grid, side);
  std::vector<double> rows(static_cast<std::size_t>(side * grid), 0.0);
  for (std::int64_t y = 0; y < side; ++y)
    for (std::int64_t k = 0; k < grid; ++k)
      for (std::int64_t x = 0; x < grid; ++x)
        rows[static_cast<std::size_t>(y * grid + x)] +=
            weights[static_cast<std::size_t>(y * grid + k)] * field[static_cast<std::size_t>(k * grid + x)];
  const double middle = static_cast<double>(side - 1) / 2;
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      double z = 0;
      for (std::int64_t k = 0; k < grid; ++k)
        z += weights[static_cast<std::size_t>(x * grid + k)] * rows[static_cast<std::size_t>(y * grid + k)];
      const double off = std::hypot(static_cast<double>(x) - middle, static_cast<double>(y) - middle);
      const double disc = 1 / (1 + std::exp((off - radius) / scale));
      canvas.pixels[y * side + x] = static_cast<float>(disc / (1 + std::exp(-6 * (z - level))));
    }
  }
}

// From the front: what is covered stays covered.
void DeadLeaves(Numbers numbers, Canvas canvas) {
  constexpr int kMostLeaves = 400;
  const std::int64_t all = canvas.side * canvas.side;
  std::vector<char> covered(static_cast<std::size_t>(all), 0);
  std::int64_t left = all;
  for (int i = 0; i < kMostLeaves && left > 0; ++i) {
    const Leaf leaf = DrawLeaf(numbers, static_cast<double>(canvas.side));
    left -= Show(leaf, DrawColour(numbers, canvas.channels), canvas, covered);
  }
  const double wide = 2 * static_cast<double>(canvas.side);
  const Leaf ground = {.disc = true, .x = 0, .y = 0, .radius = wide};
  if (left > 0) Show(ground, DrawColour(numbers, canvas.channels), canvas, covered);
}

at::Tensor PinkNoise(std::int64_t count, std::int64_t channels, std::int64_t side, const RowStream& rows) {
  if (count == 0) return at::zeros({0, channels, side, side}, at::kFloat);  // of which there is no transform
  const std::int64_t half = side / 2 + 1;
  // Of a picture's lanes the first shapes it and the second is its noise: a field shared by the channels, and one of each.
  const at::Tensor white = at::zeros({count, channels + 1, side, side}, at::kFloat);
  const at::Tensor filter = at::zeros({count, 1, side, half}, at::kFloat);
  const at::Tensor shared = at::zeros({count, 1, 1, 1}, at::kFloat);
  auto* gains = filter.data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    const RngStream own = rows.Lane(i);
    Numbers numbers(own.Lane(0));
    const double power = numbers.Uniform(0.5, 2);
    shared.data_ptr<float>()[i] = static_cast<float>(numbers.Uniform(0.5, 1));
    for (std::int64_t y = 0; y < side; ++y) {
      for (std::int64_t x = 0; x < half; ++x) {
        const double frequency = std::hypot(static_cast<double>(std::min(y, side - y)), static_cast<double>(x));
        gains[(i * side + y) * half + x] = frequency > 0 ? static_cast<float>(std::pow(frequency, -power)) : 0.0F;
      }
    }
    white[i].copy_(NormalRows(channels + 1, side * side, own.Lane(1)).view({channels + 1, side, side}));
  }
  const at::Tensor pink = at::fft_irfft2(at::fft_rfft2(white) * filter, at::IntArrayRef{side, side});
  const at::Tensor scaled = pink / pink.std(at::IntArrayRef{2, 3}, true, true).clamp_min(1e-6);
  const at::Tensor mixed = scaled.narrow(1, 1, channels) * (1 - shared * shared).sqrt() + scaled.narrow(1, 0, 1) * shared;
  return (mixed * 0.2 + 0.5).clamp(0, 1).contiguous();
}

}  // namespace retort::worker::drawing
