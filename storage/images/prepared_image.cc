#include "storage/images/prepared_image.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "storage/images/image_decoder.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace retort::storage {
namespace {

// Pillow's resize with BILINEAR: antialiased, in whole numbers, the same bits. Only what is kept is computed.

// How outputs [first, first + count) of a line of `out` pixels come from a line of `in` pixels.
struct Taps {
  Taps(std::int64_t in, std::int64_t out, std::int64_t first, std::int64_t count);
  std::int64_t most = 0;              // taps of one output
  std::vector<std::int64_t> begin;    // [count]: the first input of each
  std::vector<std::int64_t> taken;    // [count]: how many inputs, 1..most
  std::vector<std::int32_t> weights;  // [count, most], in 2^-22; those of one output sum to about 2^22
  [[nodiscard]] std::int64_t first_input() const { return begin.front(); }
  [[nodiscard]] std::int64_t end_input() const { return begin.back() + taken.back(); }
};

// One source, compiled for what the machine at hand has: multiplying whole numbers eight at a time.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define RETORT_FOR_EACH_CPU __attribute__((target_clones("avx2", "sse4.1", "default")))
#else
#define RETORT_FOR_EACH_CPU
#endif

constexpr int kBits = 22;  // of a weight's fraction
constexpr std::int32_t kHalf = 1 << (kBits - 1);

typedef std::uint8_t FourBytes __attribute__((vector_size(4)));
typedef std::int32_t FourWords __attribute__((vector_size(16)));

inline std::uint8_t Level(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kBits, 0, 255)); }

// One line of RGB, `across.begin` counted from its first pixel. Reads a byte behind the last pixel it needs.
RETORT_FOR_EACH_CPU void Across(const std::uint8_t* line, const std::int64_t* begin, const std::int64_t* taken,
                                const std::int32_t* weights, std::int64_t most, std::int64_t count, std::uint8_t* out) {
  for (std::int64_t x = 0; x < count; ++x, weights += most, out += 3) {
    FourWords sum = {kHalf, kHalf, kHalf, kHalf};
    const std::uint8_t* pixel = line + begin[x] * 3;
    for (std::int64_t k = 0; k < taken[x]; ++k, pixel += 3) {
      FourBytes bytes;
      std::memcpy(&bytes, pixel, sizeof(bytes));
      sum += __builtin_convertvector(bytes, FourWords) * weights[k];
    }
    for (int c = 0; c < 3; ++c) out[c] = Level(sum[c]);
  }
}

#if defined(__x86_64__)
// Two lines at once, `stride` apart in `out`: the same sums.
__attribute__((target("avx2"))) void AcrossTwo(const std::uint8_t* upper, const std::uint8_t* lower, const Taps& across,
                                               const std::int64_t* begin, std::uint8_t* out, std::int64_t stride) {
  const std::int32_t* weights = across.weights.data();
  const auto count = static_cast<std::int64_t>(across.taken.size());
  for (std::int64_t x = 0; x < count; ++x, weights += across.most, out += 3) {
    __m256i sum = _mm256_set1_epi32(kHalf);
    const std::int64_t first = begin[x] * 3;
    const std::int64_t taken = across.taken[static_cast<std::size_t>(x)];
    for (std::int64_t k = 0; k < taken; ++k) {
      std::int32_t a = 0, b = 0;
      std::memcpy(&a, upper + first + 3 * k, sizeof(a));
      std::memcpy(&b, lower + first + 3 * k, sizeof(b));
      const __m256i pixels = _mm256_cvtepu8_epi32(_mm_insert_epi32(_mm_cvtsi32_si128(a), b, 1));
      sum = _mm256_add_epi32(sum, _mm256_mullo_epi32(pixels, _mm256_set1_epi32(weights[k])));
    }
    const __m256i words = _mm256_packs_epi32(_mm256_srai_epi32(sum, kBits), sum);
    const __m256i levels = _mm256_packus_epi16(words, words);
    const std::int32_t a = _mm_cvtsi128_si32(_mm256_castsi256_si128(levels));
    const std::int32_t b = _mm_cvtsi128_si32(_mm256_extracti128_si256(levels, 1));
    std::memcpy(out, &a, 3);
    std::memcpy(out + stride, &b, 3);
  }
}

bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
void AcrossTwo(const std::uint8_t*, const std::uint8_t*, const Taps&, const std::int64_t*, std::uint8_t*,
               std::int64_t) {}
bool HasAvx2() { return false; }
#endif

// A line of `bytes` bytes from lines `stride` apart; `sums` is room for as many words.
RETORT_FOR_EACH_CPU void Down(const std::uint8_t* lines, std::int64_t stride, const std::int32_t* weights,
                              std::int64_t taken, std::int64_t bytes, std::int32_t* sums, std::uint8_t* out) {
  std::fill_n(sums, bytes, kHalf);
  for (std::int64_t k = 0; k < taken; ++k, lines += stride) {
    const std::int32_t weight = weights[k];
    for (std::int64_t i = 0; i < bytes; ++i) sums[i] += lines[i] * weight;
  }
  for (std::int64_t i = 0; i < bytes; ++i) {
    const std::int32_t level = sums[i] >> kBits;
    out[i] = static_cast<std::uint8_t>(level < 0 ? 0 : level > 255 ? 255 : level);
  }
}

void Spread(const std::uint8_t* rgb, std::int64_t width, std::int64_t plane, std::uint8_t* to) {
  for (std::int64_t x = 0; x < width; ++x, rgb += 3) {
    to[x] = rgb[0];
    to[plane + x] = rgb[1];
    to[2 * plane + x] = rgb[2];
  }
}

// As Pillow's precompute_coeffs: a triangle, as wide as an output pixel is in the input, at least one pixel.
Taps::Taps(std::int64_t in, std::int64_t out, std::int64_t first, std::int64_t count) {
  const double scale = static_cast<double>(in) / static_cast<double>(out), reach = std::max(scale, 1.0);
  most = static_cast<std::int64_t>(std::ceil(reach)) * 2 + 1;
  weights.assign(static_cast<std::size_t>(count * most), 0);
  std::vector<double> exact(static_cast<std::size_t>(most));
  for (std::int64_t i = 0; i < count; ++i) {
    const double centre = (static_cast<double>(first + i) + 0.5) * scale;
    const auto from = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - reach + 0.5));
    const auto end = std::min(in, static_cast<std::int64_t>(centre + reach + 0.5));
    double total = 0;
    for (std::int64_t k = 0; k < end - from; ++k) {
      const double distance = std::abs((static_cast<double>(k + from) - centre + 0.5) * (1.0 / reach));
      exact[static_cast<std::size_t>(k)] = std::max(0.0, 1.0 - distance);
      total += exact[static_cast<std::size_t>(k)];
    }
    for (std::int64_t k = 0; k < end - from; ++k) {
      const double share = total != 0 ? exact[static_cast<std::size_t>(k)] / total : 0;
      weights[static_cast<std::size_t>(i * most + k)] = static_cast<std::int32_t>(0.5 + share * (1 << kBits));
    }
    begin.push_back(from);
    taken.push_back(end - from);
  }
}

// The part of an image whose upper left corner is pixel (top, left) of the whole, resized by `down` (rows)
// and `across` (columns): both count from that corner. Into `planes`, u8 [3, outputs of down, outputs of
// across]. `source` holds every input of the taps.
void Resample(const DecodedImage& source, std::int64_t top, std::int64_t left, const Taps& down, const Taps& across,
              std::uint8_t* planes) {
  const auto width = static_cast<std::int64_t>(across.begin.size());
  const auto height = static_cast<std::int64_t>(down.begin.size());
  const std::int64_t stride = width * 3, first = down.first_input();
  std::vector<std::uint8_t> narrowed(static_cast<std::size_t>((down.end_input() - first) * stride));
  std::vector<std::int64_t> begin = across.begin;
  for (std::int64_t& x : begin) x += left - source.region.left;
  const auto line_at = [&](std::int64_t y) { return source.Row(top + y - source.region.top); };
  const bool two = HasAvx2();
  for (std::int64_t y = first; y < down.end_input(); ++y) {
    std::uint8_t* to = narrowed.data() + (y - first) * stride;
    if (two && y + 1 < down.end_input()) {
      AcrossTwo(line_at(y), line_at(y + 1), across, begin.data(), to, stride);
      ++y;
      continue;
    }
    Across(line_at(y), begin.data(), across.taken.data(), across.weights.data(), across.most, width, to);
  }
  std::vector<std::int32_t> sums(static_cast<std::size_t>(stride));
  std::vector<std::uint8_t> line(static_cast<std::size_t>(stride));
  for (std::int64_t y = 0; y < height; ++y) {
    const auto at = static_cast<std::size_t>(y);
    Down(narrowed.data() + (down.begin[at] - first) * stride, stride, down.weights.data() + y * down.most,
         down.taken[at], stride, sums.data(), line.data());
    Spread(line.data(), width, height * width, planes + y * width);
  }
}

std::string Text(const ImageSize& size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels";
}

// int(side * long / short), as torchvision computes it.
std::int64_t LongSide(std::int64_t side, std::int64_t longer, std::int64_t shorter) {
  return static_cast<std::int64_t>(static_cast<double>(side * longer) / static_cast<double>(shorter));
}

// Where a cut of `kept` begins: halves to the even number, as Python rounds.
std::int64_t CutFrom(std::int64_t whole, std::int64_t kept) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(whole - kept) / 2.0));
}

Taps RowTaps(const PreparationPlan& plan) {
  return {plan.rest.height, plan.resized.height, plan.kept.top, plan.kept.height};
}
Taps ColumnTaps(const PreparationPlan& plan) {
  return {plan.rest.width, plan.resized.width, plan.kept.left, plan.kept.width};
}

// The kept part's own pixels in the file's image.
Region Needed(const PreparationPlan& plan) {
  const Taps down = RowTaps(plan), across = ColumnTaps(plan);
  return {plan.top + down.first_input(), across.first_input(), down.end_input() - down.first_input(),
          across.end_input() - across.first_input()};
}

void ToGrey(PreparedImage& image) {
  const auto plane = static_cast<std::size_t>(image.size.height * image.size.width);
  std::uint8_t* level = image.planes.data();
  for (std::size_t i = 0; i < plane; ++i) {
    const unsigned sum = 19595U * level[i] + 38470U * level[plane + i] + 7471U * level[2 * plane + i] + 0x8000U;
    level[i] = static_cast<std::uint8_t>(sum >> 16);
  }
  image.planes.resize(plane);
}

}  // namespace

Result<PreparationPlan> PlanPreparation(const std::string& name, const ImageSize& size, const Preprocessing& p) {
  PreparationPlan plan;
  plan.top = static_cast<std::int64_t>(p.crop_top * static_cast<double>(size.height));
  plan.rest = {size.height - plan.top, size.width};
  plan.resized = p.height > 0 ? ImageSize{p.height, p.width} : plan.rest;
  if (p.resize > 0 && plan.rest.width <= plan.rest.height)
    plan.resized = {LongSide(p.resize, plan.rest.height, plan.rest.width), p.resize};
  else if (p.resize > 0)
    plan.resized = {p.resize, LongSide(p.resize, plan.rest.width, plan.rest.height)};
  plan.kept = {0, 0, plan.resized.height, plan.resized.width};
  if (p.crop > 0) {
    if (std::min(plan.resized.height, plan.resized.width) < p.crop) {
      return DamageError("'" + name + "' has " + Text(size) + ", too few for a cut of " + std::to_string(p.crop) +
                         ": give resize or a size.");
    }
    plan.kept = {CutFrom(plan.resized.height, p.crop), CutFrom(plan.resized.width, p.crop), p.crop, p.crop};
  }
  return plan;
}

Result<PreparedImage> PrepareImage(const std::string& name, std::string_view bytes, const Preprocessing& p,
                                   const ImageLimits& limits, std::int64_t channels) {
  const ImageOptions options{limits, p.exif_orientation ? ExifOrientation::apply : ExifOrientation::ignore};
  const RegionChoice choose = [&](const ImageSize& size) {
    const Result<PreparationPlan> plan = PlanPreparation(name, size, p);
    return plan.ok() ? Needed(*plan) : Region{0, 0, 1, 1};
  };
  RETORT_ASSIGN_OR_RETURN(const DecodedImage image, DecodeImage(name, bytes, options, choose));
  RETORT_ASSIGN_OR_RETURN(const PreparationPlan plan, PlanPreparation(name, image.whole, p));
  PreparedImage out;
  out.size = {plan.kept.height, plan.kept.width};
  out.planes.resize(static_cast<std::size_t>(3 * out.size.height * out.size.width));
  Resample(image, plan.top, 0, RowTaps(plan), ColumnTaps(plan), out.planes.data());
  if (channels == 1) ToGrey(out);
  return out;
}

Result<PreparedImage> PrepareRegion(const std::string& name, std::string_view bytes, const RegionChoice& choose,
                                    const ImageSize& size, const ImageOptions& options, std::int64_t channels) {
  Region box;
  const RegionChoice remember = [&](const ImageSize& whole) { return box = choose(whole); };
  RETORT_ASSIGN_OR_RETURN(const DecodedImage image, DecodeImage(name, bytes, options, remember));
  // What was turned by its orientation, and a PNG, is held whole, and its region was not asked for.
  if (box.height == 0 || options.orientation == ExifOrientation::apply) box = choose(image.whole);
  return ResizeRegion(image, box, size, channels);
}

PreparedImage ResizeRegion(const DecodedImage& image, const Region& box, const ImageSize& size, std::int64_t channels) {
  PreparedImage out;
  out.size = size;
  out.planes.resize(static_cast<std::size_t>(3 * size.height * size.width));
  Resample(image, box.top, box.left, {box.height, size.height, 0, size.height}, {box.width, size.width, 0, size.width},
           out.planes.data());
  if (channels == 1) ToGrey(out);
  return out;
}

}  // namespace retort::storage
