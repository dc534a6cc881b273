// The Laplace law on whole numbers, exactly: P[X = k] proportional to exp(-|k| r) for every whole k.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "experiments/spec/status.h"
#include "worker/noise/chacha_stream.h"

namespace retort::worker::noise {

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
  static constexpr std::uint64_t kMostWhole = std::uint64_t{1} << 24;  // V, whose 2^w multiple still fits
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
[[nodiscard]] double LatticeLaplaceProbability(double rate, std::int64_t k);

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
  while (units < kMostWhole && stays()) ++units;
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
