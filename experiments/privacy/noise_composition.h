// Composed releases of one coordinate whose noise is Laplace or discrete Gaussian: privacy loss distributions between
// two rigorous bounds. Both mechanisms lose alike in either direction.
#pragma once

#include <cstdint>

#include "experiments/privacy/loss_bracket.h"

namespace retort::privacy {

// Beyond these nothing is computed: upper is infinite. Sums of a wider discrete Gaussian take long; a loss of hundreds
// in one release underflows.
inline constexpr double kWidestComposed = 2000;
inline constexpr double kMostLossOfOne = 300;
inline constexpr std::int64_t kMostComposed = 1'000'000'000;

// `count` releases of Laplace noise of scale b at sensitivity r b.
[[nodiscard]] LossBracket ComposedLaplace(double ratio, std::int64_t count, double delta);

// `count` draws of the discrete Gaussian (discrete_gaussian.h) at a whole-number sensitivity.
[[nodiscard]] LossBracket ComposedDiscreteGaussian(double sigma, std::int64_t sensitivity, std::int64_t count,
                                                   double delta);

}  // namespace retort::privacy
