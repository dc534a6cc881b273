// k-ary randomised response: keep with probability e^e0/(e^e0 + k - 1), else any other choice alike.
// Composed exactly: the privacy loss of `count` changed answers is a sum of -e0, 0, +e0.
#pragma once

#include <cstdint>

namespace retort::privacy {

// Counts above this are refused (infinity): the lattice is held in memory.
inline constexpr std::int64_t kMaxResponseLattice = 4'000'000;

// RDP of one answer, order > 1. Infinity for arguments out of range (epsilon0 <= 0, choices < 2).
[[nodiscard]] double ComputeResponseRdp(double epsilon0, std::int64_t choices, double order);

// The least epsilon >= 0 at delta when `count` answers all change; never below it. Infinity out of range.
[[nodiscard]] double ComputeComposedResponseEpsilon(double epsilon0, std::int64_t choices, std::int64_t count,
                                                    double delta);

// delta at epsilon of Gaussian mechanisms of parameter mu beside `count` changed answers: the sum over the
// lattice of P(s) * delta_Gaussian(epsilon - s; mu). 1 out of range.
[[nodiscard]] double ComputeGaussianPlusResponseDelta(double epsilon, double mu, double epsilon0, std::int64_t choices,
                                                      std::int64_t count);

// The delta below which no finite epsilon holds for DPSD equation 5, which answers over all `classes` inside
// the selected set and over `choices` outside it: (c - k)/(e^epsilon + c - 1) at the epsilon it was set to.
[[nodiscard]] double ComputeEquation5DeltaFloor(std::int64_t classes, std::int64_t choices, double epsilon);
// The same for DP-DFD as printed, which returns the teacher's soft vector: e^epsilon/(e^epsilon + k - 1).
[[nodiscard]] double ComputeSoftLabelDeltaFloor(std::int64_t choices, double epsilon);

}  // namespace retort::privacy
