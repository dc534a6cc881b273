// The lattice that a noisy sum of real numbers lies on.
#pragma once

namespace retort::privacy {

// The granularity g of a Gaussian sum: values are rounded to whole multiples of g before they are bounded and added up, and
// the noise is a Gaussian rounded to the same multiples. A power of two, so that dividing by it is exact.
// norm_bound: what bounds one row, > 0. noise_std: of the Gaussian, > 0, in the unit of norm_bound.
// There are 2^29 to 2^30 steps in norm_bound, and fewer where the noise is more than 128 times as large, which hides them:
// noise_std stays below 2^37 steps up to a ratio of 2^20, and there are at least 2^16 steps in norm_bound.
[[nodiscard]] double LatticeStep(double norm_bound, double noise_std);

}  // namespace retort::privacy
