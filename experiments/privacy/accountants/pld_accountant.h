// Privacy loss distributions: composed Poisson-subsampled Gaussian steps between two rigorous bounds.
#pragma once

#include <cstdint>
#include <string>

namespace retort::privacy {

struct PldBracket {
  double lower = 0;           // no epsilon below it holds at delta
  double upper = 0;           // holds at delta; infinity with a reason
  bool removal_binds = true;  // upper comes from removing an example; false: from adding one
  double rdp_order = 0;       // > 0: upper is that of RDP at this order, where the grid's is no better
  double spacing = 0;         // of the grid of losses
  std::int64_t points = 0;    // of the transform
  std::string reason;         // why unbounded: "bad-parameters", or one of reasons.h; else empty
};

// epsilon at delta of `steps` steps of rate q in (0, 1] and noise standard deviation z over sensitivity,
// under add-remove adjacency: the larger of removing and adding. The one-step loss goes to a grid
// (loss_grid.h) and is composed by a Fourier transform of its exponentially tilted masses. What the
// transform's window leaves out (Chernoff) and its rounding (a proven bound) are added to delta for `upper`
// and taken off for `lower`. The grid is refined until the bracket is `width` wide, relative; infinity = good
// enough for `upper` alone. Takes milliseconds, at most about a second. Where rounding dominates (from about
// 10^9 steps on) or noise is below kMinMultiplier, what RDP gives.
[[nodiscard]] PldBracket ComputeSubsampledGaussianPld(double q, double z, std::int64_t steps, double delta,
                                                      double width = 1e-3);

// The same where an example is replaced by another, in the place that it has in the sample (subsampled_loss.h).
// Infinity with "accountant-found-no-bound" where no grid bounds it; rdp_order stays 0, and removal_binds
// says nothing.
[[nodiscard]] PldBracket ComputeSubsampledGaussianPldReplaced(double q, double z, std::int64_t steps, double delta,
                                                              double width = 1e-3);

// A noise multiplier whose upper bound is at most epsilon, above the least one by about 1e-5 relative.
// Infinity when none up to 1e6 does; NaN for arguments out of range.
[[nodiscard]] double ComputeSubsampledGaussianPldNoise(double q, std::int64_t steps, double delta, double epsilon);

// A number of steps whose upper bound is at most epsilon, below the most by about 1e-5 relative. 0 when one
// step costs more; -1 when a trillion cost less, or out of range.
[[nodiscard]] std::int64_t ComputeSubsampledGaussianPldSteps(double q, double z, double delta, double epsilon);

}  // namespace retort::privacy
