// Exact Gaussian differential privacy: composed Gaussian mechanisms and their (epsilon, delta) curve.
// delta(epsilon; mu) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)  [Balle-Wang 2018,
// theorem 8], with mu^2 = sum over draws of sensitivity^2 / noise variance [Dong-Roth-Su 2019].
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/base/status.h"

namespace retort::privacy {

// value = mantissa * 2^exponent, exact.
struct Dyadic {
  std::int64_t mantissa = 0;
  std::int32_t exponent = 0;
  [[nodiscard]] double ToDouble() const;
  // Exact: every finite double is dyadic. Error: not finite, or negative.
  [[nodiscard]] static Result<Dyadic> FromDouble(double value);
  bool operator==(const Dyadic&) const = default;
};

// `count` draws whose L2 sensitivity squared is factor * sensitivity^2 and whose standard deviation per
// coordinate is noise_std. All exact: a factor of 2 stands for sqrt(2) without rounding it.
struct GaussianTerm {
  std::int64_t count = 0;   // >= 0
  double sensitivity = 0;   // finite, >= 0
  double noise_std = 0;     // finite, > 0
  std::int64_t factor = 1;  // >= 0
};

// mu^2 = sum count * factor * sensitivity^2 / noise_std^2 in rational arithmetic, then rounded up to the
// next double. Infinity when a term is outside the ranges above.
[[nodiscard]] double ComputeMuSquaredUp(const std::vector<GaussianTerm>& terms);
// An upper bound on the composed mu: sqrt of ComputeMuSquaredUp, rounded up.
[[nodiscard]] double ComputeComposedMu(const std::vector<GaussianTerm>& terms);

// Natural logarithm of delta(epsilon; mu), for mu >= 0 and any finite epsilon (negative ones are the
// hockey-stick divergence all the same). -infinity for delta = 0. NaN only for NaN arguments or mu < 0.
[[nodiscard]] double ComputeGaussianLogDelta(double epsilon, double mu);

// The least epsilon >= 0 with delta(epsilon; mu) <= delta, to about 1e-13 relative and never below it.
// Infinity for NaN, mu < 0, mu = infinity, or delta outside (0, 1).
[[nodiscard]] double ComputeGaussianEpsilon(double delta, double mu);

// The largest mu with delta(epsilon; mu) <= delta, to about 1e-13 relative and never above it.
// 0 (no mu will do) for NaN, epsilon < 0 or delta outside (0, 1).
[[nodiscard]] double ComputeGaussianMu(double epsilon, double delta);

// Up to the next thousandth, after a safety margin for the rounding of the computation before it.
// Infinity for NaN and for negative values; 0 stays 0.
[[nodiscard]] double RoundEpsilonUp(double epsilon);

// The same for a number that was given and not computed: no margin, so that a whole thousandth stays one.
[[nodiscard]] double RoundGivenEpsilonUp(double epsilon);

}  // namespace retort::privacy
