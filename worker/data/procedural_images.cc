#include "worker/data/procedural_images.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/fft_irfft2.h>
#include <ATen/ops/fft_rfft2.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "experiments/base/status.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker::drawing {

// The side for which lengths are given; they grow with the image's side.
constexpr double kUsualSide = 28;

// Draws one random number after the other.
class Numbers {
 public:
  explicit Numbers(RngStream stream) : stream_(stream) {}
  double Uniform(double low, double high) { return low + (high - low) * stream_.Uniform(next_++); }
  std::int64_t Below(std::int64_t bound) { return stream_.Below(next_++, bound); }
  double Normal() {
    next_ += 2;
    return DrawNormalPair(next_ - 2, stream_).first;
  }

 private:
  RngStream stream_;
  std::uint64_t next_ = 0;
};

// Zeros at first, f32 [channels, side, side]; not owned.
struct Canvas {
  float* pixels;
  std::int64_t channels, side;
};

namespace {

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

// A colour around one of the image's own.
std::vector<float> DrawColour(Numbers& numbers, std::int64_t channels) {
  std::vector<float> colour(static_cast<std::size_t>(channels));
  const double light = numbers.Uniform(0, 1);
  for (float& value : colour)
    value = static_cast<float>(std::clamp(0.6 * light + 0.4 * numbers.Uniform(0, 1), 0.0, 1.0));
  return colour;
}

// Paints the pixels of the leaf that no leaf before it covers. Returns how many.
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

// Draws from the front: covered pixels stay.
void DeadLeaves(Numbers numbers, Canvas canvas) {
  constexpr int kMaxLeaves = 400;
  const std::int64_t all = canvas.side * canvas.side;
  std::vector<char> covered(static_cast<std::size_t>(all), 0);
  std::int64_t left = all;
  for (int i = 0; i < kMaxLeaves && left > 0; ++i) {
    const Leaf leaf = DrawLeaf(numbers, static_cast<double>(canvas.side));
    left -= Show(leaf, DrawColour(numbers, canvas.channels), canvas, covered);
  }
  const double wide = 2 * static_cast<double>(canvas.side);
  const Leaf ground = {.disc = true, .x = 0, .y = 0, .radius = wide};
  if (left > 0) Show(ground, DrawColour(numbers, canvas.channels), canvas, covered);
}

// f32 [count, channels, side, side]; image i from the lane of row i.
at::Tensor PinkNoise(std::int64_t count, std::int64_t channels, std::int64_t side, const RowStream& rows) {
  if (count == 0) return at::zeros({0, channels, side, side}, at::kFloat);  // which the transform does not take
  const std::int64_t half = side / 2 + 1;
  // Of an image's lanes the first shapes it and the second is its noise: a field shared by the channels, and one of
  // each.
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
    white[i].copy_(DrawNormalRows(channels + 1, side * side, own.Lane(1)).view({channels + 1, side, side}));
  }
  const at::Tensor pink = at::fft_irfft2(at::fft_rfft2(white) * filter, at::IntArrayRef{side, side});
  const at::Tensor scaled = pink / pink.std(at::IntArrayRef{2, 3}, true, true).clamp_min(1e-6);
  const at::Tensor mixed =
      scaled.narrow(1, 1, channels) * (1 - shared * shared).sqrt() + scaled.narrow(1, 0, 1) * shared;
  return (mixed * 0.2 + 0.5).clamp(0, 1).contiguous();
}

namespace {

constexpr int kPartsOfACurve = 12;
constexpr double kCornerChance = 0.3;

struct Point {
  double x = 0, y = 0;
};
Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
Point operator*(double s, Point a) { return {s * a.x, s * a.y}; }

using Line = std::vector<Point>;

// Hermite curves through 3 to 5 points of the unit square; at a corner each side leaves along its own chord.
Line Curve(Numbers& numbers) {
  std::array<Point, 5> knots;
  const auto count = static_cast<std::size_t>(3 + numbers.Below(3));
  for (std::size_t i = 0; i < count; ++i) knots.at(i) = {numbers.Uniform(0, 1), numbers.Uniform(0, 1)};
  std::array<bool, 5> corner{};
  for (std::size_t i = 1; i + 1 < count; ++i) corner.at(i) = numbers.Uniform(0, 1) < kCornerChance;
  const auto tangent = [&](std::size_t at, std::size_t from) {
    const Point chord = knots.at(from + 1) - knots.at(from);
    if (at == 0 || at + 1 == count || corner.at(at)) return chord;
    return 0.5 * (knots.at(at + 1) - knots.at(at - 1));
  };
  Line line = {knots[0]};
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const Point a = tangent(i, i), b = tangent(i + 1, i);
    for (int part = 1; part <= kPartsOfACurve; ++part) {
      const double t = static_cast<double>(part) / kPartsOfACurve, s = 1 - t;
      line.push_back(s * s * (1 + 2 * t) * knots.at(i) + t * t * (3 - 2 * t) * knots.at(i + 1) + t * s * s * a -
                     t * t * s * b);
    }
  }
  return line;
}

// Into a box of `size` pixels at its longer side, in the middle of the image.
void Fit(std::vector<Line>& lines, double size, double side) {
  Point low = lines[0][0], high = low;
  for (const Line& line : lines) {
    for (const Point& point : line) {
      low = {std::min(low.x, point.x), std::min(low.y, point.y)};
      high = {std::max(high.x, point.x), std::max(high.y, point.y)};
    }
  }
  const double scale = size / std::max({high.x - low.x, high.y - low.y, 1e-6});
  const Point middle = 0.5 * (low + high), centre = {(side - 1) / 2, (side - 1) / 2};
  for (Line& line : lines)
    for (Point& point : line) point = centre + scale * (point - middle);
}

double Distance(Point point, Point from, Point to) {
  const Point along = to - from, off = point - from;
  const double length = along.x * along.x + along.y * along.y;
  const double t = length > 0 ? std::clamp((off.x * along.x + off.y * along.y) / length, 0.0, 1.0) : 0;
  return std::hypot(off.x - t * along.x, off.y - t * along.y);
}

// A pixel is lit by how much of the half-width reaches beyond its nearest point of the line.
void Ink(Point from, Point to, double width, Canvas& canvas) {
  const double reach = width + 0.5, last = static_cast<double>(canvas.side - 1);
  const auto low = [&](double a, double b) {
    return static_cast<std::int64_t>(std::clamp(std::ceil(std::min(a, b) - reach), 0.0, last + 1));
  };
  const auto high = [&](double a, double b) {
    return static_cast<std::int64_t>(std::clamp(std::floor(std::max(a, b) + reach), -1.0, last));
  };
  for (std::int64_t y = low(from.y, to.y); y <= high(from.y, to.y); ++y) {
    for (std::int64_t x = low(from.x, to.x); x <= high(from.x, to.x); ++x) {
      const double light = reach - Distance({static_cast<double>(x), static_cast<double>(y)}, from, to);
      float& pixel = canvas.pixels[y * canvas.side + x];
      pixel = std::max(pixel, static_cast<float>(std::clamp(light, 0.0, 1.0)));
    }
  }
}

}  // namespace

void Strokes(Numbers numbers, Canvas canvas) {
  const double side = static_cast<double>(canvas.side), scale = side / kUsualSide;
  std::vector<Line> lines(static_cast<std::size_t>(1 + numbers.Below(3)));
  const double width = numbers.Uniform(0.5, 1.6) * scale, size = numbers.Uniform(15.5, 18.5) * scale;
  for (Line& line : lines) line = Curve(numbers);
  Fit(lines, size, side);
  for (const Line& line : lines)
    for (std::size_t i = 0; i + 1 < line.size(); ++i) Ink(line[i], line[i + 1], width, canvas);
}

}  // namespace retort::worker::drawing

namespace retort::worker {

namespace {

using DrawImage = void (*)(drawing::Numbers numbers, drawing::Canvas canvas);

// Draws a grey image and copies it to every channel.
at::Tensor Grey(DrawImage draw, std::int64_t count, std::int64_t channels, std::int64_t side, const RowStream& rows) {
  const at::Tensor images = at::zeros({count, 1, side, side}, at::kFloat);
  auto* pixels = images.data_ptr<float>();
  at::parallel_for(0, count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      draw(drawing::Numbers(rows.Lane(i)), {pixels + i * side * side, 1, side});
  });
  return images.expand({count, channels, side, side}).contiguous();
}

at::Tensor Coloured(DrawImage draw, std::int64_t count, std::int64_t channels, std::int64_t side,
                    const RowStream& rows) {
  const at::Tensor images = at::zeros({count, channels, side, side}, at::kFloat);
  auto* pixels = images.data_ptr<float>();
  at::parallel_for(0, count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      draw(drawing::Numbers(rows.Lane(i)), {pixels + i * channels * side * side, channels, side});
  });
  return images;
}

}  // namespace

at::Tensor DrawProceduralImages(ProceduralKind kind, std::int64_t count, std::int64_t channels, std::int64_t side,
                                const RowStream& rows) {
  RETORT_CHECK(count >= 0 && channels >= 1 && side >= 8);
  switch (kind) {
    case ProceduralKind::strokes:
      return Grey(drawing::Strokes, count, channels, side, rows);
    case ProceduralKind::blobs:
      return Grey(drawing::Blobs, count, channels, side, rows);
    case ProceduralKind::dead_leaves:
      return Coloured(drawing::DeadLeaves, count, channels, side, rows);
    case ProceduralKind::noise:
      break;
  }
  return drawing::PinkNoise(count, channels, side, rows);
}

}  // namespace retort::worker
