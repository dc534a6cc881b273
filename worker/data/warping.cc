#include "worker/data/warping.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace retort::worker {
namespace {

constexpr std::uint64_t kFirstFieldDraw = 16;
constexpr std::int64_t kQuarters = 4;        // a node every quarter of a side
constexpr std::int64_t kImagesAtLeast = 16;  // of one thread

// The weights of the four nodes from `first` on in a displacement along an axis.
struct Blend {
  std::size_t first;
  std::array<float, 4> weights;
};

std::vector<Blend> ComputeBlends(std::int64_t side) {
  std::vector<Blend> blends;
  for (std::int64_t at = 0; at < side; ++at) {
    const std::int64_t before = at * kQuarters / side;  // the grid's first node lies one before the image
    const double t = static_cast<double>(at * kQuarters - before * side) / static_cast<double>(side);
    const double square = t * t, cube = square * t;
    blends.push_back(
        {static_cast<std::size_t>(before),
         {static_cast<float>((-t + 2 * square - cube) / 2), static_cast<float>((2 - 5 * square + 3 * cube) / 2),
          static_cast<float>((t + 4 * square - 3 * cube) / 2), static_cast<float>((cube - square) / 2)}});
  }
  return blends;
}

struct Extent {
  std::int64_t channels, height, width;
  [[nodiscard]] std::int64_t plane() const { return height * width; }
  // With a border of one pixel before and two behind, which holds both pixels beside every clamped place.
  [[nodiscard]] std::int64_t bordered_width() const { return width + 3; }
  [[nodiscard]] std::int64_t bordered() const { return (height + 3) * bordered_width(); }
};

// From where each pixel of one image is taken: the pixel to its upper left in the bordered image, and the weights of
// the lower and the right pixels.
struct Place {
  std::int32_t corner;
  float down, right;
};

// The inverse of a move: the place of (x, y) is (x_at_origin + xx x + xy y, ...).
struct Inverse {
  double xx, xy, yx, yy, x_at_origin, y_at_origin;
};

Inverse Invert(const AffineMove& move, const Extent& extent) {
  const double cosine = std::cos(move.angle) / move.scale, sine = std::sin(move.angle) / move.scale;
  Inverse inverse{cosine + move.shear * sine, sine - move.shear * cosine, -sine, cosine, 0, 0};
  const double x = static_cast<double>(extent.width - 1) / 2, y = static_cast<double>(extent.height - 1) / 2;
  inverse.x_at_origin = x - inverse.xx * (x + move.right) - inverse.xy * (y + move.down);
  inverse.y_at_origin = y - inverse.yx * (x + move.right) - inverse.yy * (y + move.down);
  return inverse;
}

using Row = std::array<float, static_cast<std::size_t>(kFieldNodes)>;

// The nodes' columns at one height of the image.
Row BlendRow(const DisplacementField::Nodes& nodes, const Blend& blend) {
  Row row{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t k = 0; k < row.size(); ++k) row[k] += blend.weights[i] * nodes[(blend.first + i) * row.size() + k];
  return row;
}

float At(const Row& row, const Blend& blend) {
  float sum = 0;
  for (std::size_t i = 0; i < 4; ++i) sum += blend.weights[i] * row[blend.first + i];
  return sum;
}

class Warper {
 public:
  Warper(const Extent& extent, const float* black, bool bends)
      : extent_(extent),
        black_(black),
        places_(static_cast<std::size_t>(extent.plane())),
        bordered_(static_cast<std::size_t>(extent.bordered())) {
    if (bends) down_ = ComputeBlends(extent.height), right_ = ComputeBlends(extent.width);
  }

  // One image, all channels of it.
  void Warp(const float* from, const AffineMove& move, const DisplacementField& field, float* to) {
    const Inverse inverse = Invert(move, extent_);
    for (std::int64_t y = 0; y < extent_.height; ++y) FindRow(y, inverse, field);
    for (std::int64_t c = 0; c < extent_.channels; ++c) {
      SetBordered(from + c * extent_.plane(), black_[c]);
      TakePlane(to + c * extent_.plane());
    }
  }

 private:
  void FindRow(std::int64_t y, const Inverse& inverse, const DisplacementField& field) {
    const auto height = static_cast<double>(y);
    const auto x0 = static_cast<float>(inverse.x_at_origin + inverse.xy * height);
    const auto y0 = static_cast<float>(inverse.y_at_origin + inverse.yy * height);
    const auto xx = static_cast<float>(inverse.xx), yx = static_cast<float>(inverse.yx);
    const bool bends = !down_.empty();
    const auto at = static_cast<std::size_t>(y);
    const Row down = bends ? BlendRow(field.down, down_[at]) : Row{},
              right = bends ? BlendRow(field.right, down_[at]) : Row{};
    Place* place = places_.data() + y * extent_.width;
    for (std::int64_t x = 0; x < extent_.width; ++x) {
      float from_x = x0 + xx * static_cast<float>(x), from_y = y0 + yx * static_cast<float>(x);
      if (bends) {
        const Blend& blend = right_[static_cast<std::size_t>(x)];
        from_x += At(right, blend);
        from_y += At(down, blend);
      }
      place[x] = FindPlace(from_x, from_y);
    }
  }

  // Beyond the border all is black; within it, counted from the border's first pixel, no place is negative.
  [[nodiscard]] Place FindPlace(float x, float y) const {
    const float right = std::clamp(x, -1.0F, static_cast<float>(extent_.width)) + 1;
    const float down = std::clamp(y, -1.0F, static_cast<float>(extent_.height)) + 1;
    const auto column = static_cast<std::int32_t>(right), row = static_cast<std::int32_t>(down);
    return {row * static_cast<std::int32_t>(extent_.bordered_width()) + column, down - static_cast<float>(row),
            right - static_cast<float>(column)};
  }

  void SetBordered(const float* plane, float black) {
    std::fill(bordered_.begin(), bordered_.end(), black);
    const std::int64_t stride = extent_.bordered_width();
    for (std::int64_t y = 0; y < extent_.height; ++y)
      std::memcpy(bordered_.data() + (y + 1) * stride + 1, plane + y * extent_.width,
                  static_cast<std::size_t>(extent_.width) * sizeof(float));
  }

  void TakePlane(float* to) const {
    const std::int64_t stride = extent_.bordered_width();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const Place& place = places_[i];
      const float* upper = bordered_.data() + place.corner;
      const float* lower = upper + stride;
      const float above = upper[0] * (1 - place.right) + upper[1] * place.right;
      const float below = lower[0] * (1 - place.right) + lower[1] * place.right;
      to[i] = above * (1 - place.down) + below * place.down;
    }
  }

  Extent extent_;
  const float* black_;
  std::vector<Blend> down_, right_;  // of rows and of columns; none: nothing bends
  std::vector<Place> places_;
  std::vector<float> bordered_;  // one channel
};

// `each(row, move, field)` says how image `row` is warped; `field` is empty for the first row, and as the row before
// left it for the next.
template <typename Each>
at::Tensor WarpAll(const at::Tensor& images, const at::Tensor& black, bool bends, const Each& each) {
  const at::Tensor in = images.cpu().contiguous();
  at::Tensor out = at::empty_like(in);
  const Extent extent{in.size(1), in.size(2), in.size(3)};
  const float* source = in.const_data_ptr<float>();
  float* target = out.mutable_data_ptr<float>();
  const std::int64_t size = extent.channels * extent.plane();
  at::parallel_for(0, in.size(0), kImagesAtLeast, [&](std::int64_t begin, std::int64_t end) {
    Warper warper(extent, black.const_data_ptr<float>(), bends);
    AffineMove move;
    DisplacementField field;
    for (std::int64_t i = begin; i < end; ++i) {
      each(i, move, field);
      warper.Warp(source + i * size, move, field, target + i * size);
    }
  });
  return out.to(images.device());
}

}  // namespace

AffineMove DrawAffineMove(const WarpRanges& ranges, const RngStream& lane) {
  constexpr double kPi = 3.14159265358979323846;
  const auto within = [&lane](std::uint64_t draw, double most) { return most * (2 * lane.Uniform(draw) - 1); };
  return {within(0, ranges.degrees * kPi / 180), 1 + within(1, ranges.scale), within(2, ranges.shear),
          within(3, ranges.reach), within(4, ranges.reach)};
}

DisplacementField DrawDisplacementField(double field, std::int64_t height, std::int64_t width, const RngStream& lane) {
  DisplacementField drawn;
  for (std::size_t i = 0; i < drawn.down.size(); ++i) {
    const auto [down, right] = DrawNormalPair(kFirstFieldDraw + 2 * i, lane);
    drawn.down[i] = static_cast<float>(down * field * static_cast<double>(height));
    drawn.right[i] = static_cast<float>(right * field * static_cast<double>(width));
  }
  return drawn;
}

at::Tensor WarpImages(const at::Tensor& images, const AffineMove& move, const DisplacementField& field,
                      const at::Tensor& black) {
  return WarpAll(images, black, true, [&](std::int64_t, AffineMove& its, DisplacementField& bends) {
    its = move;
    bends = field;
  });
}

at::Tensor WarpAtRandom(const at::Tensor& images, const WarpRanges& ranges, const at::Tensor& black,
                        const RowStream& rows) {
  const std::int64_t height = images.size(2), width = images.size(3);
  const bool bends = ranges.field > 0;
  return WarpAll(images, black, bends, [&](std::int64_t i, AffineMove& move, DisplacementField& field) {
    const RngStream lane = rows.Lane(i);
    move = DrawAffineMove(ranges, lane);
    if (bends) field = DrawDisplacementField(ranges.field, height, width, lane);
  });
}

}  // namespace retort::worker
