// How many candidates a private selection draws: distributions of K whose bound is proven, and K itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "experiments/base/status.h"

namespace retort::privacy {

enum class DrawFamily : unsigned char { poisson, negative_binomial };

// Of Poisson: mean > 0; K may be 0. Of the truncated negative binomial: K >= 1 and
// P[K = k] = (1 - gamma)^k / (gamma^-eta - 1) * prod_{l < k} (l + eta) / (l + 1), eta > -1, gamma in (0, 1); eta = 1 is
// geometric, and the limit eta = 0 logarithmic [Papernot-Steinke 2022, definition 1].
struct DrawLaw {
  DrawFamily family = DrawFamily::poisson;
  double mean = 0;   // E[K]; of the truncated negative binomial rounded up
  double eta = 0;    // of the truncated negative binomial
  double gamma = 0;  // of the truncated negative binomial
  bool operator==(const DrawLaw&) const = default;
};

inline constexpr double kMinDrawGamma = 1e-12;  // K has no practical end below
inline constexpr double kMaxMeanDraws = 1e6;
// A larger K counts as this many. ComputeLogTail says how likely that is.
inline constexpr std::int64_t kMaxDrawnCandidates = 10'000'000;

// Error: usage, naming what is out of range.
[[nodiscard]] Result<DrawLaw> MakePoissonDraws(double mean);
[[nodiscard]] Result<DrawLaw> MakeNegativeBinomialDraws(double eta, double gamma);
// The largest gamma whose E[K] is at least `mean`, to the last digits. Error: usage, also for a mean that no gamma has.
[[nodiscard]] Result<DrawLaw> SolveNegativeBinomialDraws(double eta, double mean);

// E[K] of the truncated negative binomial, to about 1e-14 relative.
[[nodiscard]] double ComputeMeanDraws(double eta, double gamma);

// An upper bound on log P[K > kMaxDrawnCandidates].
[[nodiscard]] double ComputeLogTail(const DrawLaw& law);

// The least k <= kMaxDrawnCandidates with P[K > k] <= probability, for probabilities of 10^-40 and more: what a planner
// has to be ready for.
[[nodiscard]] std::int64_t ComputeReach(const DrawLaw& law, double probability);

// "geometric, E[K] = 10, gamma 0.1".
[[nodiscard]] std::string DescribeDraws(const DrawLaw& law);

// 64 uniform random bits.
using BitSource = std::function<std::uint64_t()>;

// Draws min(K, kMaxDrawnCandidates) by inversion: bits of one uniform number are taken until they tell between which
// two values of the distribution function it lies. The function is computed with 100 digits, and with 1000 where these
// do not tell. The law of what comes out is within 10^-990 of K's, which no double sees.
[[nodiscard]] std::int64_t DrawCandidateCount(const DrawLaw& law, const BitSource& bits);

// A number below `bound` >= 1, uniform: bits that would favour some are thrown away.
[[nodiscard]] std::int64_t DrawBelow(std::int64_t bound, const BitSource& bits);

// The operating system's entropy. Ends the program where it has none.
[[nodiscard]] std::uint64_t DrawSystemBits();

}  // namespace retort::privacy
