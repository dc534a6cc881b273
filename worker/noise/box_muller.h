// Box-Muller from 128 random bits, in IEEE additions, multiplications, divisions and square roots
// alone, which CPU and GPU round alike: no libm, no contraction (-ffp-contract=off, --fmad=false).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define RETORT_HOST_DEVICE __host__ __device__
#else
#define RETORT_HOST_DEVICE
#endif

namespace retort::worker::noise {

// ln u for u in [2^-64, 1], within 2 ulp: u = m 2^e with m in [sqrt(1/2), sqrt 2), then the series of
// 2 artanh((m - 1) / (m + 1)).
RETORT_HOST_DEVICE inline double NaturalLog(double u) {
  std::uint64_t bits;
  std::memcpy(&bits, &u, sizeof bits);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
  double m;
  std::memcpy(&m, &bits, sizeof m);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    exponent += 1;
  }
  const double f = (m - 1.0) / (m + 1.0);
  const double x = f * f;
  double series = 1.0 / 21.0;
  series = series * x + 1.0 / 19.0;
  series = series * x + 1.0 / 17.0;
  series = series * x + 1.0 / 15.0;
  series = series * x + 1.0 / 13.0;
  series = series * x + 1.0 / 11.0;
  series = series * x + 1.0 / 9.0;
  series = series * x + 1.0 / 7.0;
  series = series * x + 1.0 / 5.0;
  series = series * x + 1.0 / 3.0;
  const double log_m = 2.0 * f + 2.0 * f * x * series;
  return static_cast<double>(exponent) * 0.69314718055994530942 + log_m;
}

// Sine and cosine of 2 pi turn / 2^64, within 2^-50: Taylor series after reduction to an eighth of a turn.
RETORT_HOST_DEVICE inline void SineCosine(std::uint64_t turn, double& sine, double& cosine) {
  const std::uint64_t quadrant = (turn + (1ull << 61)) >> 62;  // nearest multiple of a quarter turn
  const std::int64_t rest = static_cast<std::int64_t>(turn - (quadrant << 62));
  const double x = static_cast<double>(rest) * (6.283185307179586477 / 18446744073709551616.0);
  const double y = x * x;
  double s = 1.0 / 355687428096000.0;
  s = s * y - 1.0 / 1307674368000.0;
  s = s * y + 1.0 / 6227020800.0;
  s = s * y - 1.0 / 39916800.0;
  s = s * y + 1.0 / 362880.0;
  s = s * y - 1.0 / 5040.0;
  s = s * y + 1.0 / 120.0;
  s = s * y - 1.0 / 6.0;
  s = x + x * y * s;
  double c = 1.0 / 20922789888000.0;
  c = c * y - 1.0 / 87178291200.0;
  c = c * y + 1.0 / 479001600.0;
  c = c * y - 1.0 / 3628800.0;
  c = c * y + 1.0 / 40320.0;
  c = c * y - 1.0 / 720.0;
  c = c * y + 1.0 / 24.0;
  c = c * y - 0.5;
  c = 1.0 + y * c;
  const std::uint64_t turns = quadrant & 3u;
  sine = turns == 0 ? s : turns == 1 ? c : turns == 2 ? -s : -c;
  cosine = turns == 0 ? c : turns == 1 ? -s : turns == 2 ? -c : s;
}

// Two independent N(0, 1) from two independent 64-bit words; |value| <= sqrt(128 ln 2) < 9.5.
RETORT_HOST_DEVICE inline void NormalPair(std::uint64_t radius_bits, std::uint64_t angle_bits, double& first,
                                          double& second) {
  const double u = (static_cast<double>(radius_bits) + 1.0) * (1.0 / 18446744073709551616.0);
  // At most 1, since 2^64 + 1 rounds to 2^64; ln 1 = 0 then gives radius 0.
  const double radius = std::sqrt(-2.0 * NaturalLog(u));
  double sine, cosine;
  SineCosine(angle_bits, sine, cosine);
  first = radius * cosine;
  second = radius * sine;
}

}  // namespace retort::worker::noise
