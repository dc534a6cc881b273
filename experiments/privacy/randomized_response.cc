#include "experiments/privacy/randomized_response.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "experiments/privacy/exact_gdp.h"

namespace retort::privacy {
namespace {

using Real = long double;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// P(the losses of `count` answers add up to s e0) for s = count, count - 1, ..., 0. The loss of one answer is
// +e0 with probability p, -e0 with probability p e^-e0 and 0 otherwise.
class LatticeWalk {
 public:
  LatticeWalk(Real epsilon0, Real choices, std::int64_t count)
      : down_(std::exp(-epsilon0)),
        stay_((choices - 2) * down_),
        count_(static_cast<Real>(count)),
        offset_(-count_ * std::log1p((choices - 1) * down_)),
        scale_(std::exp(offset_)) {}

  // Of the sum that the walk stands at; 0 where it is below 1e-4600.
  [[nodiscard]] Real Probability() const { return here_ * scale_; }
  [[nodiscard]] Real LogProbability() const { return offset_ + std::log(here_); }

  // To the next lower sum. Coefficients of (1 + stay x + down x^2)^count, the probabilities over p^count;
  // every term is positive up to the middle.
  void Step() {
    Real next =
        (stay_ * (count_ - passed_) * here_ + down_ * (2 * count_ - passed_ + 1) * before_) / (passed_ + 1);
    ++passed_;
    if (next > 1e300L) {
      offset_ += std::log(1e300L);
      scale_ = std::exp(offset_);
      here_ /= 1e300L;
      next /= 1e300L;
    }
    before_ = here_;
    here_ = next;
  }

 private:
  Real down_, stay_;  // probabilities over p
  Real count_, offset_, scale_;
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
  return epsilon0 > 0 && std::isfinite(epsilon0) && choices >= 2 && count >= 1 &&
         count <= kLongestResponseLattice;
}

}  // namespace

double ResponseRdp(double epsilon0, std::int64_t choices, double order) {
  if (!InRange(epsilon0, choices, 1) || !(order > 1) || std::isinf(order)) return kInfinity;
  const Real e = epsilon0;
  const Real a = order;
  const auto others = static_cast<Real>(choices - 1);
  const Real log_keep = -std::log1p(others * std::exp(-e));
  // p^a q^(1-a) + q^a p^(1-a) + (k-2) q with q = p e^-e, over the largest of the three.
  const Real rest = std::exp(e * (1 - 2 * a)) + (others - 1) * std::exp(-e * a);
  const Real log_moment = log_keep + (a - 1) * e + std::log1p(rest);
  return static_cast<double>(std::fmax(log_moment / (a - 1), 0.0L));
}

double ComposedResponseEpsilon(double epsilon0, std::int64_t choices, std::int64_t count, double delta) {
  if (!InRange(epsilon0, choices, count) || !(delta > 0 && delta < 1)) return kInfinity;
  LatticeWalk walk(epsilon0, static_cast<Real>(choices), count);
  const Real decay = std::exp(-static_cast<Real>(epsilon0));
  Real mass = 0;      // sum of P(s) over s > m
  Real weighted = 0;  // the same times e^{(m - s) e0}
  for (std::int64_t m = count - 1; m >= 0; --m) {
    const Real probability = walk.Probability();
    walk.Step();
    mass += probability;
    weighted = decay * (weighted + probability);
    if (mass - weighted <= static_cast<Real>(delta)) continue;
    const Real inside = std::log((mass - static_cast<Real>(delta)) / weighted);
    const Real epsilon = static_cast<Real>(m) * static_cast<Real>(epsilon0) + inside;
    return std::nextafter(static_cast<double>(epsilon * (1 + 1e-12L)), kInfinity);
  }
  return 0;
}

double GaussianPlusResponseDelta(double epsilon, double mu, double epsilon0, std::int64_t choices,
                                 std::int64_t count) {
  if (!InRange(epsilon0, choices, count) || !(mu >= 0) || std::isnan(epsilon)) return 1;
  const std::vector<Real> logs = UpperHalf(epsilon0, static_cast<Real>(choices), count);
  Real delta = 0;
  for (std::int64_t s = -count; s <= count; ++s) {
    const std::int64_t size = s < 0 ? -s : s;
    Real log_probability = logs[static_cast<std::size_t>(count - size)];
    if (s < 0) log_probability -= static_cast<Real>(size) * static_cast<Real>(epsilon0);
    delta += std::exp(log_probability +
                      static_cast<Real>(GaussianLogDelta(epsilon - static_cast<double>(s) * epsilon0, mu)));
  }
  return static_cast<double>(delta);
}

double Equation5DeltaFloor(std::int64_t classes, std::int64_t choices, double epsilon) {
  return static_cast<double>(classes - choices) / (std::exp(epsilon) + static_cast<double>(classes) - 1);
}

double SoftLabelDeltaFloor(std::int64_t choices, double epsilon) {
  return 1 / (1 + static_cast<double>(choices - 1) * std::exp(-epsilon));
}

}  // namespace retort::privacy
