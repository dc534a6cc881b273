// Deltas with 50 digits, and lower bounds on them, for comparison with what accountants claim. Slow, and
// written from the definitions, so that they share no formula with the code.
#pragma once

#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>
#include <functional>
#include <vector>

namespace retort::privacy {

using Exact = boost::multiprecision::cpp_bin_float_50;

// Of the Gaussian mechanism, at epsilon >= 0 and mu > 0.
[[nodiscard]] Exact ComputeGaussianDelta(const Exact& epsilon, const Exact& mu);

// Of k-ary randomised response on `count` changed answers, term by term.
[[nodiscard]] Exact ComputeResponseDelta(double epsilon0, std::int64_t choices, std::int64_t count,
                                         const Exact& epsilon);

// Of one Poisson-subsampled Gaussian step, the larger of removal and addition.
[[nodiscard]] Exact ComputeSubsampledDelta(double q, double z, const Exact& epsilon);
// The same where an example is replaced: at least that of opposite gradients at the best threshold of a few.
[[nodiscard]] Exact ReplacedDeltaFloor(double q, double z, const Exact& epsilon);

// log A(a) of the Poisson-subsampled Gaussian's Renyi moment: whole orders from the binomial sum, others by
// quadrature.
[[nodiscard]] Exact SubsampledLogMoment(double q, double z, double order);

// One release's privacy loss log P/Q as atoms of Q. What is missing of Q's mass has any loss.
struct LossAtoms {
  std::vector<long double> loss, mass;
};
[[nodiscard]] LossAtoms ResponseAtoms(double epsilon0, std::int64_t choices);
[[nodiscard]] LossAtoms LaplaceAtoms(double ratio);
[[nodiscard]] LossAtoms SubsampledAtoms(double q, double z);  // removal: P has the example
[[nodiscard]] LossAtoms ReplacedAtoms(double q, double z);    // opposite gradients

// A lower bound on delta at epsilon of `count` such releases: P(S > t) - e^epsilon Q(S > t) at the best t of
// a few, each probability by the normal law and the theorem of Berry and Esseen (constant 0.4748, Shevtsova
// 2011).
[[nodiscard]] long double NormalDeltaFloor(const LossAtoms& atoms, double count, long double epsilon);

}  // namespace retort::privacy
