#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "worker/distill/procedural_drawing.h"

namespace retort::worker::drawing {
namespace {

constexpr double kUsualSide = 28;
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

// Into a box of `size` pixels at its longer side, in the middle of the picture.
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
