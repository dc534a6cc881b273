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

// log P(s changes of loss +1 in the balance) for s = count, count - 1, ..., 0, at index count - s. The loss
// of one answer is +1 with probability p, -1 with probability p e^-e0 and 0 otherwise.
std::vector<Real> UpperHalf(Real epsilon0, Real choices, std::int64_t count) {
  const Real log_keep = -std::log1p((choices - 1) * std::exp(-epsilon0));
  const Real down = std::exp(-epsilon0);   // over p
  const Real stay = (choices - 2) * down;  // over p
  const auto n = static_cast<Real>(count);
  std::vector<Real> logs(static_cast<std::size_t>(count) + 1);
  Real offset = n * log_keep;
  Real before = 0;
  Real here = 1;
  for (std::int64_t i = 0; i <= count; ++i) {
    logs[static_cast<std::size_t>(i)] = offset + std::log(here);
    // Coefficients of (1 + stay x + down x^2)^n; every term is positive up to the middle.
    const auto m = static_cast<Real>(i);
    Real next = (stay * (n - m) * here + down * (2 * n - m + 1) * before) / (m + 1);
    if (next > 1e300L) {
      offset += std::log(1e300L);
      here /= 1e300L;
      next /= 1e300L;
    }
    before = here;
    here = next;
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
  const std::vector<Real> logs = UpperHalf(epsilon0, static_cast<Real>(choices), count);
  const Real decay = std::exp(-static_cast<Real>(epsilon0));
  Real mass = 0;      // sum of P(s) over s > m
  Real weighted = 0;  // the same times e^{(m - s) e0}
  for (std::int64_t m = count - 1; m >= 0; --m) {
    const Real probability = std::exp(logs[static_cast<std::size_t>(count - m - 1)]);
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
