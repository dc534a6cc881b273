#include "worker/noise/lattice_samplers.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <string>

namespace retort::worker::noise {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;

// 2^64 value, rounded down, and kept inside 64 bits.
std::uint64_t FixedPoint(double value) {
  const double scaled = std::ldexp(value, 64);
  return scaled >= 0x1p64 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(scaled);
}

enum class Comparison { below, above, undecided };

// Is v < E_k, where v lies in [0.words, 0.words + 2^-64 words.size())? `relative_error` bounds that of
// Real's erfc and of its argument's rounding; both are some tens of units of Real's last bit.
template <typename Real>
Comparison Compare(double scale, std::int64_t k, std::uint64_t prefix, const std::vector<std::uint64_t>& tail,
                   int relative_error_bits) {
  const Real threshold = boost::math::erfc((Real(k) + Real(0.5)) / (Real(scale) * sqrt(Real(2))));
  const Real slack = ldexp(threshold, -relative_error_bits);
  Real low = ldexp(Real(prefix), -64);
  int bits = 64;
  for (const std::uint64_t word : tail) {
    bits += 64;
    low += ldexp(Real(word), -bits);
  }
  const Real high = low + ldexp(Real(1), -bits);
  if (high <= threshold - slack) return Comparison::below;
  if (low >= threshold + slack) return Comparison::above;
  return Comparison::undecided;
}

}  // namespace

Result<LatticeGaussian> LatticeGaussian::Create(double scale) {
  if (!(scale >= kMinScale && scale <= kMaxScale)) {
    return UsageError("The vote noise is " + std::to_string(scale) + " votes; the exact sampler covers " +
                      std::to_string(kMinScale) + " to " + std::to_string(kMaxScale) + ".");
  }
  LatticeGaussian lattice;
  lattice.scale_ = scale;
  for (std::int64_t k = 0;; ++k) {
    const double threshold = std::erfc((static_cast<double>(k) + 0.5) / (scale * kSqrt2));
    if (threshold < 0x1p-65) break;
    lattice.low_.push_back(FixedPoint(threshold * (1 - kRelativeError)));
    lattice.high_.push_back(FixedPoint(threshold * (1 + kRelativeError)));
  }
  const int guide_bits = std::clamp(static_cast<int>(std::ceil(std::log2(scale))) + 3, 8, 20);
  const std::size_t buckets = std::size_t{1} << guide_bits;
  lattice.guide_.resize(buckets);
  std::size_t k = 0;
  for (std::size_t bucket = buckets; bucket-- > 0;) {
    const std::uint64_t largest =
        (static_cast<std::uint64_t>(bucket) << (64 - guide_bits)) | (~std::uint64_t{0} >> guide_bits);
    while (k < lattice.low_.size() && largest < lattice.low_[k]) ++k;
    lattice.guide_[bucket] = static_cast<std::int32_t>(k);
  }
  lattice.guide_shift_ = 64 - guide_bits;
  return lattice;
}

bool LatticeGaussian::Below(std::uint64_t prefix, std::vector<std::uint64_t>& tail, std::int64_t k,
                            ChaChaStream& bits) const {
  namespace mp = boost::multiprecision;
  const auto extend = [&](std::size_t words) {
    while (tail.size() < words) tail.push_back(bits.NextU64());
  };
  extend(1);
  Comparison side = Compare<mp::cpp_bin_float_50>(scale_, k, prefix, tail, 140);  // 168-bit numbers
  if (side == Comparison::undecided) {
    extend(4);
    side = Compare<mp::cpp_bin_float_100>(scale_, k, prefix, tail, 300);  // 334-bit numbers
  }
  RETORT_CHECK(side != Comparison::undecided);  // happens with probability below 2^-190
  return side == Comparison::below;
}

std::int32_t LatticeGaussian::Draw(std::uint64_t prefix, bool negative, ChaChaStream& bits) const {
  std::size_t k = static_cast<std::size_t>(guide_[prefix >> guide_shift_]);
  while (k < low_.size() && prefix < low_[k]) ++k;
  const auto undecided = [&] { return prefix <= (k < high_.size() ? high_[k] : 0); };
  if (undecided()) {
    std::vector<std::uint64_t> tail;
    while (undecided() && Below(prefix, tail, static_cast<std::int64_t>(k), bits)) ++k;
  }
  const auto magnitude = static_cast<std::int32_t>(k);
  return negative ? -magnitude : magnitude;
}

void LatticeGaussian::Sample(ChaChaStream& bits, std::span<std::int32_t> out) const {
  std::uint64_t signs = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i % 64 == 0) signs = bits.NextU64();
    out[i] = Draw(bits.NextU64(), (signs >> (i % 64)) & 1, bits);
  }
}

double ComputeLatticeGaussianProbability(double scale, std::int64_t k) {
  const double unit = 1 / (scale * kSqrt2);
  const double magnitude = static_cast<double>(k < 0 ? -k : k);
  if (k == 0) return std::erf(0.5 * unit);
  return 0.5 * (std::erfc((magnitude - 0.5) * unit) - std::erfc((magnitude + 0.5) * unit));
}

Result<LatticeLaplace> LatticeLaplace::Create(double rate) {
  if (!(rate >= kMinRate && rate <= kMaxRate))
    return UsageError("Laplace noise on the lattice needs a rate between 2^-50 and 16.");
  LatticeLaplace laplace;
  laplace.rate_ = rate;
  int exponent = 0;
  constexpr int kDigits = 53;
  laplace.numerator_ = static_cast<std::uint64_t>(std::ldexp(std::frexp(rate, &exponent), kDigits));
  laplace.width_ = kDigits - exponent;
  for (; laplace.numerator_ % 2 == 0 && laplace.width_ > 0; --laplace.width_) laplace.numerator_ /= 2;
  laplace.reach_ = static_cast<std::int64_t>(std::min(std::floor(static_cast<double>(kMaxWhole) / rate), 0x1p62));
  return laplace;
}

void LatticeLaplace::Sample(ChaChaStream& bits, std::span<std::int64_t> out) const {
  for (std::int64_t& value : out) value = Draw(bits);
}

double ComputeLatticeLaplaceProbability(double rate, std::int64_t k) {
  return std::tanh(rate / 2) * std::exp(-rate * std::abs(static_cast<double>(k)));
}

}  // namespace retort::worker::noise
