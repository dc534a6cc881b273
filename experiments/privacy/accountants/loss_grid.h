// The privacy loss of one Poisson-subsampled Gaussian step on a grid of whole multiples of a spacing h: once
// with more privacy loss than the step has, once with less.
//
// The outcomes are cut at edges where the loss is a multiple of h, so that P and Q of every interval are
// known. More loss ("connect the dots" [Doroshenko et al. 2022]): the outcomes of an interval are sent to its
// two ends so that both their P and their Q mass stay; a mean-preserving spread of Q-over-P dominates. Less
// loss: at random half of every interval is merged with half of the next. That is post-processing, so the
// merged outcomes lose no more than the step; their loss lies at `slack` beside the edge between the two.
#pragma once

#include <cstdint>
#include <vector>

namespace retort::privacy {

// Below it losses of one step span hundreds, where masses underflow; epsilon is in the hundreds there.
inline constexpr double kMinMultiplier = 0.1;

struct SubsampledStep {
  double q = 1;           // rate in (0, 1]
  double multiplier = 0;  // noise standard deviation over sensitivity, >= kMinMultiplier
  double tail = 0;        // outcomes rarer than this may be given away, > 0
};

struct LossAtom {
  std::int64_t index = 0;  // loss = index * h
  double mass = 0;         // under P, > 0
};

struct DirectionGrid {
  std::vector<LossAtom> more;  // by index, ascending or descending
  double infinite = 0;         // mass of `more` whose loss counts as infinite
  std::vector<LossAtom> less;  // sub-probability: what is missing has loss -infinity
  // Under P, true loss of a merged outcome minus its label: mean, variance, and the least value.
  double slack_mean = 0, slack_variance = 0, slack_least = 0;
};

// What the outcomes of one interval of losses hold, both ends whole multiples of h. With x and y its lower
// and upper end in loss: rise = P - e^x Q and fall = e^y Q - P, both >= 0 and computed without cancellation.
struct LossInterval {
  std::int64_t low = 0, high = 0;  // indices of the ends
  double p = 0, q = 0, rise = 0, fall = 0;
};

// Edges of intervals from `least` <= 0 to `most` >= 0 or a little beyond, ascending: h apart, away from 0 a
// `share`-th of the loss.
[[nodiscard]] std::vector<std::int64_t> MakeLossEdges(double least, double most, double spacing, std::int64_t share);

// Both distributions of these intervals, which ascend and leave no gap. `infinite` holds what is too rare for a
// double, below 1e-293; the caller adds what is beyond them.
[[nodiscard]] DirectionGrid MakeDirectionGrid(const std::vector<LossInterval>& intervals, double spacing);

struct LossGrid {
  double spacing = 0;
  DirectionGrid remove;  // P = (1-q) N(0, z^2) + q N(1, z^2), Q = N(0, z^2)
  DirectionGrid add;     // the other way round
};

// Arguments in the ranges above, h > 0. The number of intervals stays in the thousands: away from 0 they
// widen to 1/512 of the loss.
[[nodiscard]] LossGrid MakeGrid(const SubsampledStep& step, double spacing);

// Points of the continuous loss with their masses, for estimates only.
struct LossSample {
  std::vector<double> loss;         // under remove; under add it is minus this
  std::vector<double> remove, add;  // masses
};
[[nodiscard]] LossSample MakeSample(const SubsampledStep& step);

}  // namespace retort::privacy
