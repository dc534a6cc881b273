// The privacy loss of one Poisson-subsampled Gaussian step where an example is replaced by another.
//
// With the examples' clipped gradients x and x' over their norm bound and s the sum of the others, the step
// draws from (1-q) N(s, z^2) + q N(s + x, z^2), or from the same with x'. No two gradients lose more, at any
// epsilon, than opposite ones of norm 1 (PROOFS.md, DP-SGD): P = (1-q) N(0, z^2) + q N(1, z^2) and Q = (1-q)
// N(0, z^2) + q N(-1, z^2). Q is P's mirror image, so one direction is both.
#pragma once

#include "experiments/privacy/accountants/loss_composition.h"
#include "experiments/privacy/accountants/loss_grid.h"

namespace retort::privacy {

// log P/Q under P. step: in its ranges (loss_grid.h).
[[nodiscard]] ReleaseLoss MakeReplacedLoss(const SubsampledStep& step);

// P and Q's total variation distance: delta at epsilon 0. q in (0, 1], z > 0.
[[nodiscard]] double ComputeReplacedDeltaAtZero(double q, double z);

// One Poisson-subsampled Gaussian step, exactly: rate q in (0, 1], noise standard deviation z over
// sensitivity. Removing an example compares (1-q) N(0, z^2) + q N(1, z^2) with N(0, z^2), adding one the
// other way round.

// The least delta at epsilon (any finite value): q delta_G(log(1 + (e^epsilon - 1)/q)), with delta_G that of
// the Gaussian mechanism of noise z. 1 out of range.
[[nodiscard]] double ComputeSubsampledDeltaRemove(double q, double z, double epsilon);
// (1 - e^epsilon (1-q)) delta_G(log(e^epsilon q / (1 - e^epsilon (1-q)))); 0 from epsilon = -log(1-q) on.
[[nodiscard]] double ComputeSubsampledDeltaAdd(double q, double z, double epsilon);

}  // namespace retort::privacy
