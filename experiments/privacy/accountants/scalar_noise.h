// Composed releases of one coordinate whose noise is Laplace or discrete Gaussian: privacy loss distributions between
// two rigorous bounds. Both mechanisms lose alike in either direction.
#pragma once

#include <cstdint>

#include "experiments/privacy/accountants/loss_composition.h"

namespace retort::privacy {

// Beyond these nothing is computed: upper is infinite. Sums of a wider discrete Gaussian take long; a loss of hundreds
// in one release underflows.
inline constexpr double kMaxComposedSigma = 2000;
inline constexpr double kMaxSingleLoss = 300;
inline constexpr std::int64_t kMaxComposedCount = 1'000'000'000;

// `count` releases of Laplace noise of scale b at sensitivity r b.
[[nodiscard]] LossBracket ComposeLaplace(double ratio, std::int64_t count, double delta);

// `count` draws of the discrete Gaussian at a whole-number sensitivity.
[[nodiscard]] LossBracket ComposeDiscreteGaussian(double sigma, std::int64_t sensitivity, std::int64_t count,
                                                  double delta);

// The Laplace mechanism of scale b on a value of sensitivity 1, with its ratio r = sensitivity / b.

// delta at epsilon of one release: 1 - e^((epsilon - r)/2), and 0 from r on; exact for epsilon >= 0. 1 out
// of range (ratio <= 0, NaN).
[[nodiscard]] double ComputeLaplaceDelta(double ratio, double epsilon);

// The least epsilon at delta in (0, 1) of one release, never below it. Infinity out of range.
[[nodiscard]] double ComputeLaplaceEpsilon(double ratio, double delta);

// RDP of one release at an order > 1 [Mironov 2017, proposition 6]. Infinity out of range.
[[nodiscard]] double ComputeLaplaceRdp(double ratio, double order);

// The discrete Gaussian on the whole numbers, P(x) proportional to e^(-x^2 / (2 sigma^2)), added to a query
// of whole-number sensitivity. Several draws compose as zero-concentrated privacy: rho = D^2/(2 sigma^2).

// Above this sigma the tail sums are refused.
inline constexpr double kMaxDiscreteGaussianSigma = 1e5;

// The least delta at epsilon >= 0 of one draw [Canonne-Kamath-Steinke 2020, theorem 7]:
// P[Y > epsilon sigma^2/D - D/2] - e^epsilon P[Y > epsilon sigma^2/D + D/2]. 1 out of range.
[[nodiscard]] double ComputeDiscreteGaussianDelta(double sigma, std::int64_t sensitivity, double epsilon);

}  // namespace retort::privacy
