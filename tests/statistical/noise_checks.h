// Checks of drawn noise against the event that the ledger holds. The tests run them on the real
// mechanisms, where they must stay silent, and on mutants, where they must not.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/privacy_event.h"

namespace retort::worker {

// Empty when nothing is wrong; otherwise what was found.
using Alarm = std::string;

// Every check below raises a false alarm on correct noise with at most this probability.
inline constexpr double kFalseAlarm = 1e-6;

// `draws` f64 [n, coordinates]: are they n independent draws of N(0, variance I)? Mean, variance and
// covariance of every pair of coordinates (chi-square and normal bounds, Bonferroni over all entries),
// the smallest eigenvalue (rank), no row drawn twice, no correlation between neighbouring rows.
// n >= 1000 and n >= 50 coordinates.
[[nodiscard]] Alarm CheckDraws(const at::Tensor& draws, double variance);

// As CheckDraws, with the variance that the event says; on the lattice that of the rounded Gaussian.
[[nodiscard]] Alarm CheckAgainstEvent(const at::Tensor& draws, const privacy::PrivacyEvent& event);

// Two runs of the same trial, each from its spec alone: draws equal exactly when the event says seeded.
[[nodiscard]] Alarm CheckSource(const privacy::PrivacyEvent& event, const at::Tensor& first_run,
                                const at::Tensor& second_run);

// `draw(i)`: the examples of sample i, indices i64 [k]. Does each of `examples` enter each sample independently with
// probability `rate`? Sizes have the binomial's variance, and every example its share. examples * rate >= 20.
[[nodiscard]] Alarm CheckPoissonSamples(const std::function<at::Tensor(std::int64_t)>& draw, std::int64_t examples,
                                        double rate);

// At confidence 1 - kFalseAlarm, from the counts of a distinguishing test (`hits` of `trials` under
// one neighbour, `false_hits` of as many under the other): a lower bound on the Gaussian-DP mu.
[[nodiscard]] double MuLowerBound(std::int64_t hits, std::int64_t false_hits, std::int64_t trials);

// Two-sided Clopper-Pearson bounds at error kFalseAlarm / 2 on each side.
struct Interval {
  double low = 0, high = 1;
};
[[nodiscard]] Interval ClopperPearson(std::int64_t hits, std::int64_t trials);

}  // namespace retort::worker
