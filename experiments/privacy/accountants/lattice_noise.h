// The lattice that a noisy sum of real numbers lies on.
#pragma once

#include <cstdint>

namespace retort::privacy {

// The granularity g of a Gaussian sum: values are rounded to whole multiples of g before they are bounded and added up,
// and the noise is a Gaussian rounded to the same multiples. A power of two, so that dividing by it is exact.
// norm_bound: what bounds one row, > 0. noise_std: of the Gaussian, > 0, in the unit of norm_bound.
// There are 2^29 to 2^30 steps in norm_bound, and fewer where the noise is more than 128 times as large, which hides
// them: noise_std stays below 2^37 steps up to a ratio of 2^20, and there are at least 2^16 steps in norm_bound.
[[nodiscard]] double ComputeLatticeStep(double norm_bound, double noise_std);

// What noise gives away because what is drawn has an end.

// In deviations: beyond them a draw of a lattice's Gaussian (2^-128 of its radius, lattice_pair.h) and of
// votes' noise (2^-320 of its mass, worker/noise/lattice_samplers.h) ends the trial instead.
inline constexpr double kGaussianReach = 13.3, kVoteReach = 20;

// The probability that one of `draws` of `coordinates` Gaussians each, whose centre a neighbour moves by
// `shift` deviations in all, lies where the neighbour's cannot: what delta has to have room for. 1 where that
// is not small.
[[nodiscard]] double ComputeMissingMass(double draws, double coordinates, double shift, double reach);

}  // namespace retort::privacy
