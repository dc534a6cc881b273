// Exact samplers of the Gaussian and the Laplace law on whole numbers, from a stream of random bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "experiments/base/status.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::noise {

// Samples N(0, s^2) rounded to the nearest integer, exactly: a post-processing of the ideal continuous Gaussian, so
// that exact Gaussian DP applies (Karney 2016 samples the same law by rejection). Inversion: with v uniform on (0, 1),
// the magnitude is the number of k >= 0 with v < E_k, where E_k = erfc((k + 1/2) / (s sqrt 2)); the sign is one more
// bit. v is known by its first 64 bits and E_k by a double with a stated relative error; whenever these do not decide,
// v gets more bits and E_k is evaluated with 50 digits, then 100. Immutable and thread-safe after construction.
class LatticeGaussian {
 public:
  static constexpr double kMinScale = 0x1p-6;
  static constexpr double kMaxScale = 0x1p20;
  // Bound on the relative error of the tabulated E_k: 1 to 1.5 ulp of the argument, amplified by at
  // most 2x^2 + 1 <= 91 (x <= 6.7), and 8 ulp of erfc, stay under 2^-43.
  static constexpr double kRelativeError = 0x1p-42;

  // `scale` is s, in units of the lattice. Error: usage, when outside [kMinScale, kMaxScale].
  [[nodiscard]] static Result<LatticeGaussian> Create(double scale);

  [[nodiscard]] double scale() const { return scale_; }
  void Sample(ChaChaStream& bits, std::span<std::int32_t> out) const;
  // One draw whose first 64 bits of v are `prefix`; further bits come from `bits`.
  [[nodiscard]] std::int32_t Draw(std::uint64_t prefix, bool negative, ChaChaStream& bits) const;

 private:
  LatticeGaussian() = default;
  // Is v < E_k? v = 0.prefix followed by fresh bits, which `tail` collects so that v stays one number.
  [[nodiscard]] bool Below(std::uint64_t prefix, std::vector<std::uint64_t>& tail, std::int64_t k,
                           ChaChaStream& bits) const;

  double scale_ = 0;
  // 2^64 E_k lies in [low_[k], high_[k]]; decreasing in k; ends where it falls below 1.
  std::vector<std::uint64_t> low_, high_;
  std::vector<std::int32_t> guide_;  // by the top bits of v: all smaller k have v < E_k surely
  int guide_shift_ = 64;
};

// P[X = k] in double, for tests and audits; relative error about 1e-15 s.
[[nodiscard]] double ComputeLatticeGaussianProbability(double scale, std::int64_t k);

// Samples the Laplace law on whole numbers, exactly: P[X = k] proportional to exp(-|k| r) for every whole k.
// By Canonne, Kamath and Steinke (2020, algorithms 1 and 2), in whole numbers alone. A double r is a / 2^w,
// so e^(-r) has no rounding: a geometric number of ratio e^(-1/2^w) is 2^w V + U with U below 2^w, accepted
// with probability e^(-U/2^w), and V geometric of ratio 1/e; divided by a, rounded down, it has ratio e^(-r).
// A coin of e^(-g), g in [0, 1], is whether the first of coins of g, g/2, g/3, ... that fails is an odd one.
// No magnitude is impossible. Immutable and thread-safe after construction.
class LatticeLaplace {
 public:
  static constexpr double kMinRate = 0x1p-50, kMaxRate = 0x1p4;

  // `rate` is r, one over the scale in units of the lattice. Error: usage, when outside [kMinRate, kMaxRate].
  [[nodiscard]] static Result<LatticeLaplace> Create(double rate);

  [[nodiscard]] double rate() const { return rate_; }
  // Magnitudes from here on are drawn as this one: at 2^24 scales, or at 2^62. What is done with the noise
  // has to be the same for all of them.
  [[nodiscard]] std::int64_t reach() const { return reach_; }
  void Sample(ChaChaStream& bits, std::span<std::int64_t> out) const;
  // One draw. Bits: NextU64() and Below(count) as ChaChaStream has them.
  template <typename Bits>
  [[nodiscard]] std::int64_t Draw(Bits& bits) const;

 private:
  __extension__ typedef unsigned __int128 Wide;
  static constexpr std::uint64_t kMaxWhole = std::uint64_t{1} << 24;  // V, whose 2^w multiple still fits
  LatticeLaplace() = default;
  // w random bits, and one more as the sign.
  template <typename Bits>
  [[nodiscard]] Wide Fraction(Bits& bits, bool* negative) const;
  // Whether a coin of e^(-u / 2^w) came up.
  template <typename Bits>
  [[nodiscard]] bool Stays(Wide u, Bits& bits) const;
  // V.
  template <typename Bits>
  [[nodiscard]] static std::uint64_t WholeUnits(Bits& bits);
  double rate_ = 0;
  std::uint64_t numerator_ = 1;  // a
  int width_ = 0;                // w, 0 to 102
  std::int64_t reach_ = 0;
};

// P[X = k] in double.
[[nodiscard]] double ComputeLatticeLaplaceProbability(double rate, std::int64_t k);

template <typename Bits>
LatticeLaplace::Wide LatticeLaplace::Fraction(Bits& bits, bool* negative) const {
  const std::uint64_t high = bits.NextU64();
  const Wide all = width_ > 63 ? (Wide{high} << 64) | bits.NextU64() : Wide{high} << 64;
  if (negative != nullptr) *negative = (high >> 63) != 0;
  const Wide without_sign = all & (~Wide{0} >> 1);
  return without_sign >> (127 - width_);
}

template <typename Bits>
bool LatticeLaplace::Stays(Wide u, Bits& bits) const {
  std::uint64_t tried = 1;
  while ((tried == 1 || bits.Below(tried) == 0) && Fraction(bits, nullptr) < u) ++tried;
  return tried % 2 == 1;
}

template <typename Bits>
std::uint64_t LatticeLaplace::WholeUnits(Bits& bits) {
  const auto stays = [&bits] {
    std::uint64_t tried = 2;  // the first coin of 1 cannot fail
    while (bits.Below(tried) == 0) ++tried;
    return tried % 2 == 1;
  };
  std::uint64_t units = 0;
  while (units < kMaxWhole && stays()) ++units;
  return units;
}

template <typename Bits>
std::int64_t LatticeLaplace::Draw(Bits& bits) const {
  while (true) {
    bool negative = false;
    const Wide fraction = Fraction(bits, &negative);
    if (!Stays(fraction, bits)) continue;
    const Wide magnitude = ((Wide{WholeUnits(bits)} << width_) + fraction) / numerator_;
    if (negative && magnitude == 0) continue;  // 0 has one sign
    const auto drawn = static_cast<std::int64_t>(std::min(magnitude, static_cast<Wide>(reach_)));
    return negative ? -drawn : drawn;
  }
}

}  // namespace retort::worker::noise
