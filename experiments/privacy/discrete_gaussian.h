// The discrete Gaussian on the whole numbers, P(x) proportional to e^(-x^2 / (2 sigma^2)), added to a query
// of whole-number sensitivity. Several draws compose as zero-concentrated privacy: rho = D^2/(2 sigma^2).
#pragma once

#include <cstdint>

namespace retort::privacy {

// Above this sigma the tail sums are refused.
inline constexpr double kWidestDiscreteGaussian = 1e5;

// The least delta at epsilon >= 0 of one draw [Canonne-Kamath-Steinke 2020, theorem 7]:
// P[Y > epsilon sigma^2/D - D/2] - e^epsilon P[Y > epsilon sigma^2/D + D/2]. 1 out of range.
[[nodiscard]] double DiscreteGaussianDelta(double sigma, std::int64_t sensitivity, double epsilon);

}  // namespace retort::privacy
