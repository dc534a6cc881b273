#include "experiments/privacy/accountants/randomized_response.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"

namespace retort::privacy {
namespace {

using Real = long double;

// P(the losses of `count` answers add up to s e0) for s = count, count - 1, ..., 0. The loss of one answer is
// +e0 with probability p, -e0 with probability p e^-e0 and 0 otherwise.
class LatticeWalk {
 public:
  LatticeWalk(Real epsilon0, Real choices, std::int64_t count)
      : down_(std::exp(-epsilon0)),
        stay_((choices - 2) * down_),
        count_(static_cast<Real>(count)),
        start_(-count_ * std::log1p((choices - 1) * down_)),
        scale_(std::exp(start_)) {}

  // Of the sum that the walk stands at; 0 where it is below 1e-4600.
  [[nodiscard]] Real Probability() const { return here_ * scale_; }
  [[nodiscard]] Real LogProbability() const { return Offset() + std::log(here_); }
  // By how much, relatively, any probability or sum of positive multiples of them, step by step, may be off: every
  // step multiplies and adds positive numbers a dozen times, and the start is a power of e.
  [[nodiscard]] Real RelativeError() const {
    constexpr Real kRoundOff = std::numeric_limits<Real>::epsilon();
    return kRoundOff * (32 * (count_ + 1) + 8 * std::abs(start_));
  }

  // Steps on while every probability is too small for a Real, but not to the last sum; returns how often it stepped.
  std::int64_t SkipZeros() {
    const Real last = count_ - 1;
    while (scale_ == 0 && passed_ < last) stay_ == 0 && passed_ + 1 < last ? StepTwice() : Step();
    return static_cast<std::int64_t>(passed_);
  }

  // To the next lower sum. Coefficients of (1 + stay x + down x^2)^count, the probabilities over p^count;
  // every term is positive up to the middle.
  void Step() {
    Real next = (stay_ * (count_ - passed_) * here_ + down_ * (2 * count_ - passed_ + 1) * before_) / (passed_ + 1);
    ++passed_;
    if (next > kLarge) next = Rescale(next);
    before_ = here_;
    here_ = next;
  }

 private:
  static constexpr Real kLarge = 0x1p1000L;
  // Two steps where no loss is 0 and the sum between two has no probability.
  void StepTwice() {
    Real next = down_ * (2 * count_ - passed_) * here_ / (passed_ + 2);
    passed_ += 2;
    if (next > kLarge) next = Rescale(next);
    here_ = next;
  }
  [[nodiscard]] Real Rescale(Real next) {
    ++scalings_;
    scale_ = std::exp(Offset());
    here_ /= kLarge;
    return next / kLarge;
  }
  [[nodiscard]] Real Offset() const {
    constexpr Real kLogLarge = 693.147180559945309417232121458176568L;
    return start_ + scalings_ * kLogLarge;
  }
  Real down_, stay_;  // probabilities over p
  Real count_, start_, scale_;
  Real scalings_ = 0;
  Real passed_ = 0, before_ = 0, here_ = 1;
};

std::vector<Real> UpperHalf(Real epsilon0, Real choices, std::int64_t count) {
  LatticeWalk walk(epsilon0, choices, count);
  std::vector<Real> logs;
  logs.reserve(static_cast<std::size_t>(count) + 1);
  for (std::int64_t i = 0; i <= count; ++i) {
    logs.push_back(walk.LogProbability());
    walk.Step();
  }
  return logs;
}

bool InRange(double epsilon0, std::int64_t choices, std::int64_t count) {
  return epsilon0 > 0 && std::isfinite(epsilon0) && choices >= 2 && count >= 1 && count <= kMaxResponseLattice;
}

}  // namespace

double ComputeResponseRdp(double epsilon0, std::int64_t choices, double order) {
  if (!InRange(epsilon0, choices, 1) || !(order > 1) || std::isinf(order)) return kInfinity;
  const Real e = epsilon0;
  const Real a = order;
  const auto others = static_cast<Real>(choices - 1);
  // p^a q^(1-a) + q^a p^(1-a) + (k-2) q with q = p e^-e, less 1, is (e^ae - 1) (1 - e^-(a-1)e) / (e^e + k - 1):
  // positive factors, in logarithms.
  const Real up = (a - 1) * e + std::log(-std::expm1(-a * e));
  const Real down = std::log(-std::expm1(-(a - 1) * e));
  const Real log_excess = up + down - std::log1p(others * std::exp(-e));
  const Real log_moment = log_excess > 60 ? log_excess + std::exp(-log_excess) : std::log1p(std::exp(log_excess));
  const auto rdp = static_cast<double>(std::min(log_moment / (a - 1), e) * (1 + 1e-14L));
  return std::nextafter(rdp, kInfinity);
}

double ComputeComposedResponseEpsilon(double epsilon0, std::int64_t choices, std::int64_t count, double delta) {
  if (!InRange(epsilon0, choices, count) || !(delta > 0 && delta < 1)) return kInfinity;
  // delta at 0 is the total variation: at most tanh(e0 / 2) for one answer, and for all the sum.
  if (static_cast<double>(count) * epsilon0 / 2 * (1 + 1e-12) <= delta) return 0;
  LatticeWalk walk(epsilon0, static_cast<Real>(choices), count);
  const Real one = epsilon0;
  const Real decay = std::exp(-one), lost = -std::expm1(-one);
  const Real error = walk.RelativeError();
  // Sums over s > m of positive terms, since differences of them would cancel where e0 is small.
  Real mass = 0;      // P(s)
  Real weighted = 0;  // P(s) e^{(m - s) e0}
  Real above = 0;     // P(s) (1 - e^{(m - s) e0}): delta at epsilon = m e0
  for (std::int64_t m = count - 1 - walk.SkipZeros(); m >= 0; --m) {
    const Real probability = walk.Probability();
    walk.Step();
    mass += probability;
    weighted = decay * (weighted + probability);
    above = decay * above + lost * mass;
    const Real excess = above * (1 + error) - static_cast<Real>(delta);
    if (excess <= 0) continue;
    // delta(m e0 + x) = above - weighted (e^x - 1), for x up to e0, where the sum before this one ended below delta.
    const Real inside = std::min(std::log1p(excess / (weighted * (1 - error))), one);
    const Real epsilon = static_cast<Real>(m) * one + inside;
    return std::nextafter(static_cast<double>(epsilon * (1 + 1e-15L)), kInfinity);
  }
  return 0;
}

double ComputeGaussianPlusResponseDelta(double epsilon, double mu, double epsilon0, std::int64_t choices,
                                        std::int64_t count) {
  if (!InRange(epsilon0, choices, count) || !(mu >= 0) || std::isnan(epsilon)) return 1;
  const std::vector<Real> logs = UpperHalf(epsilon0, static_cast<Real>(choices), count);
  Real delta = 0;
  for (std::int64_t s = -count; s <= count; ++s) {
    const std::int64_t size = s < 0 ? -s : s;
    Real log_probability = logs[static_cast<std::size_t>(count - size)];
    if (s < 0) log_probability -= static_cast<Real>(size) * static_cast<Real>(epsilon0);
    delta += std::exp(log_probability +
                      static_cast<Real>(ComputeGaussianLogDelta(epsilon - static_cast<double>(s) * epsilon0, mu)));
  }
  return static_cast<double>(delta);
}

double ComputeEquation5DeltaFloor(std::int64_t classes, std::int64_t choices, double epsilon) {
  return static_cast<double>(classes - choices) / (std::exp(epsilon) + static_cast<double>(classes) - 1);
}

double ComputeSoftLabelDeltaFloor(std::int64_t choices, double epsilon) {
  return 1 / (1 + static_cast<double>(choices - 1) * std::exp(-epsilon));
}

}  // namespace retort::privacy
