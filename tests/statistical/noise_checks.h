// Checks of drawn noise against the event that the ledger holds. The tests run them on the real
// mechanisms, where they must stay silent, and on mutants, where they must not.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/status.h"

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

}  // namespace retort::worker
