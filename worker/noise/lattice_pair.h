// Two Gaussians rounded to whole numbers, exactly, for host and device code alike: Box-Muller in IEEE additions,
// multiplications, divisions and square roots, which CPU and GPU round alike (no libm, no contraction:
// -ffp-contract=off,
// --fmad=false), with a bound on its error; where that leaves the rounding open, whole-number arithmetic of many words
// decides it. What comes out is the ideal N(0, s^2), rounded: a function of random bits alone, whatever computed it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "worker/noise/wide_fixed.h"

namespace retort::worker::noise {

// The random bits of a pair: two uniform numbers, each 0.(first word)(more words). The first words are drawn at once,
// the others where they are needed.
struct PairBits {
  static constexpr int kMore = 6;
  std::uint64_t radius, angle;
  std::uint64_t more_radius[kMore], more_angle[kMore];
};

// Beyond the largest scale the error of the double value would no longer lie within a quarter of a step.
constexpr double kMinLatticeScale = 1.0 / 1048576, kMaxLatticeScale = 2199023255552.0;  // 2^41

// Nearest whole number, |value| < 2^51.
RETORT_HOST_DEVICE inline double NearestWhole(double value) {
  constexpr double kShift = 6755399441055744.0;  // 1.5 2^52
  return (value + kShift) - kShift;
}

// What the sum of a row's squares must not pass so that the row has norm `longest` at most: the square, less more than
// sums of doubles are off by.
RETORT_HOST_DEVICE inline double LongestSquare(double longest) {
  return longest * longest * (1.0 - 1.0 / 1099511627776.0);  // 2^-40
}

// -ln u for u in (0, 1), from u and 1 - u, each known to a part in 2^53: within a part in 2^50. u = m 2^e with m in
// [sqrt(1/2), sqrt 2), then the series of 2 artanh((m - 1) / (m + 1)).
RETORT_HOST_DEVICE inline double MinusLog(double u, double rest) {
  int exponent = 0;
  double m = u, above = -rest;  // m - 1
  if (u <= 0.7071067811865476) {
    std::uint64_t bits;
    std::memcpy(&bits, &u, sizeof bits);
    exponent = static_cast<int>(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
    std::memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
      m *= 0.5;
      exponent += 1;
    }
    above = m - 1.0;
  }
  const double f = above / (m + 1.0);
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
  return static_cast<double>(-exponent) * 0.69314718055994530942 - log_m;
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

// A radius of the pair in double, within a part in 2^48. Near 0 and 1 the first word is too coarse for that, and the
// second is asked for: `more()` fills PairBits; a third tells what is left of them where the second begins with zeros,
// too. NaN where the first two are all zeros or all ones (probability 2^-127).
template <typename More>
RETORT_HOST_DEVICE double Radius(PairBits& bits, const More& more) {
  constexpr std::uint64_t kCoarse = 1ull << 48;
  constexpr double kWord = 1.0 / 18446744073709551616.0;
  double u = static_cast<double>(bits.radius), rest = static_cast<double>(~bits.radius);
  if (bits.radius < kCoarse || ~bits.radius < kCoarse) {
    more();
    u += static_cast<double>(bits.more_radius[0]) * kWord;
    rest += static_cast<double>(~bits.more_radius[0]) * kWord;
    if (u == 0 || rest == 0) return std::sqrt(-1.0);
    u += static_cast<double>(bits.more_radius[1]) * (kWord * kWord);
    rest += static_cast<double>(~bits.more_radius[1]) * (kWord * kWord);
  }
  return std::sqrt(2.0 * MinusLog(u * kWord, rest * kWord));
}

// The uniform number 0.(first)(more...), cut after `Used` further words.
template <int Words, int Used>
RETORT_HOST_DEVICE WideFixed<Words> Uniform(std::uint64_t first, const std::uint64_t* more) {
  static_assert(2 * (Used + 1) <= Words - 1, "the words must fit");
  WideFixed<Words> result{};
  for (int i = 0; i <= Used; ++i) {
    const std::uint64_t word = i == 0 ? first : more[i - 1];
    result.word[Words - 2 - 2 * i] = static_cast<std::uint32_t>(word >> 32);
    result.word[Words - 3 - 2 * i] = static_cast<std::uint32_t>(word);
  }
  return result;
}

// cos(pi/2 f) or sin(pi/2 f) for f in [0, 1/2], by Taylor series.
template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> QuarterTurn(const WideFixed<Words>& f, bool sine) {
  // pi, of which pi/2 is a half.
  constexpr std::uint32_t kPi[16] = {3u,          0x243F6A88u, 0x85A308D3u, 0x13198A2Eu, 0x03707344u, 0xA4093822u,
                                     0x299F31D0u, 0x082EFA98u, 0xEC4E6C89u, 0x452821E6u, 0x38D01377u, 0xBE5466CFu,
                                     0x34E90C6Cu, 0xC0AC29B7u, 0xC97C50DDu, 0x3F84D5B5u};
  WideFixed<Words> pi;
  for (int i = 0; i < Words; ++i) pi.word[Words - 1 - i] = kPi[i];
  const WideFixed<Words> x = Multiply(f, ShiftRight(pi, 1)), square = Multiply(x, x);
  WideFixed<Words> term = sine ? x : Whole<Words>(1), plus = term, minus{};
  for (std::uint32_t n = sine ? 2 : 1; !IsZero(term); n += 2) {
    term = DivideBy(Multiply(term, square), n * (n + 1));
    if ((n / 2) % 2 == (sine ? 1u : 0u))
      minus = Add(minus, term);
    else
      plus = Add(plus, term);
  }
  return Subtract(plus, minus);
}

// exp(-x), x in [0, 128).
template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> MinusExponential(const WideFixed<Words>& x) {
  constexpr int kHalvings = 7;
  const WideFixed<Words> small = ShiftRight(x, kHalvings);
  WideFixed<Words> term = Whole<Words>(1), plus = term, minus{};
  for (std::uint32_t n = 1; !IsZero(term); ++n) {
    term = DivideBy(Multiply(term, small), n);
    if (n % 2 == 1)
      minus = Add(minus, term);
    else
      plus = Add(plus, term);
  }
  WideFixed<Words> result = Subtract(plus, minus);
  for (int i = 0; i < kHalvings; ++i) result = Multiply(result, result);
  return result;
}

enum class Side { below, beyond, open };

// Does the Gaussian of these bits, times `scale`, lie beyond edge = k + 1/2 in magnitude? s sqrt(-2 ln U) |cos| >= edge
// where U <= exp(-(edge / (s |cos|))^2 / 2), of the cosine of 2 pi V or of its sine. The double value lies near the
// edge, so that |cos| >= 2^-47 and the exponent is below 128. With `Used` further words, V is known to 2^-64(Used + 1),
// the cosine therefore to a part in 2^(64 Used + 12), and the exponential to 2^-(64 Used + 12): well within
// 2^-kOpenBits.
template <int Words, int Used>
RETORT_HOST_DEVICE Side FindSide(const PairBits& bits, bool sine, double scale, double edge) {
  constexpr int kOpenBits = 64 * Used;
  const WideFixed<Words> turn = Uniform<Words, Used>(bits.angle, bits.more_angle);
  // The quarter, and the part of it that has passed.
  const std::uint32_t quarter = turn.word[Words - 2] >> 30;
  WideFixed<Words> part = Add(Add(turn, turn), Add(turn, turn));
  part.word[Words - 1] = 0;
  bool as_sine = sine != (quarter % 2 == 1);
  if (Less(PowerOfHalf<Words>(1), part)) {
    part = Subtract(Whole<Words>(1), part);
    as_sine = !as_sine;
  }
  const WideFixed<Words> along = QuarterTurn(part, as_sine);
  // edge / (s cos) with s = m 2^e, m in [1, 2).
  int exponent = 0;
  const double m = 2.0 * std::frexp(scale, &exponent);
  const double shifted = std::ldexp(edge, 1 - exponent);
  const WideFixed<Words> wanted = Divide(FromDouble<Words>(shifted), Multiply(FromDouble<Words>(m), along));
  const WideFixed<Words> limit = MinusExponential(ShiftRight(Multiply(wanted, wanted), 1));
  const WideFixed<Words> low = Uniform<Words, Used>(bits.radius, bits.more_radius);
  const WideFixed<Words> slack = PowerOfHalf<Words>(kOpenBits);
  if (Less(Add(limit, slack), low)) return Side::below;
  if (Less(Add(low, slack), limit)) return Side::beyond;
  return Side::open;
}

// The nearest whole number to the ideal value, of which `value` in double lies near an edge between two. NaN where 448
// random bits leave it open (probability below 2^-380). The further words are there.
RETORT_NOINLINE inline double Decided(double value, const PairBits& bits, bool sine, double scale) {
  const double below = std::floor(std::fabs(value)), edge = below + 0.5;
  Side side = FindSide<8, 2>(bits, sine, scale, edge);
  if (side == Side::open) side = FindSide<16, 6>(bits, sine, scale, edge);
  if (side == Side::open) return std::sqrt(-1.0);
  const double whole = side == Side::beyond ? below + 1 : below;
  return value < 0 ? -whole : whole;
}

// `value` = s times one Gaussian of the pair in double, off by `error` at most: the nearest whole number to the ideal
// value.
template <typename More>
RETORT_HOST_DEVICE double RoundExactly(double value, double error, PairBits& bits, bool sine, double scale,
                                       const More& more) {
  const double nearest = NearestWhole(value);
  if (0.5 - std::fabs(value - nearest) > error) return nearest;
  more();
  return Decided(value, bits, sine, scale);
}

// N(0, scale^2) twice, independent, each rounded to the nearest whole number. scale in [kMinLatticeScale,
// kMaxLatticeScale]. `more()` fills more_radius and more_angle of `bits`, the same words each time. |draw| <= 13.4
// scale + 1.
template <typename More>
RETORT_HOST_DEVICE void LatticePair(PairBits& bits, double scale, const More& more, double& first, double& second) {
  constexpr double kError = 1.0 / 140737488355328.0;  // 2^-47: twice the bound on radius, sine and products together
  const double radius = scale * Radius(bits, more);
  if (!(radius >= 0)) {
    first = second = radius;
    return;
  }
  double sine, cosine;
  SineCosine(bits.angle, sine, cosine);
  const double error = radius * kError;
  first = RoundExactly(radius * cosine, error, bits, false, scale, more);
  second = RoundExactly(radius * sine, error, bits, true, scale, more);
}

}  // namespace retort::worker::noise
