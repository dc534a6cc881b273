// Renyi differential privacy: Poisson-subsampled Gaussian steps, and conversions to (epsilon, delta).
// composition.h adds the curves of several events.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace retort::privacy {

// RDP of order `order` > 1 of one Poisson-subsampled Gaussian step under add-remove adjacency: rate q in
// [0, 1], noise standard deviation z over sensitivity; never below it. Integer orders by the binomial sum, others by
// quadrature of positive terms, or between integer ones where that takes long. Infinity for arguments out of range and
// for whatever does not come out finite and non-negative.
[[nodiscard]] double ComputeSubsampledGaussianRdp(double q, double z, double order);

enum class RdpConversion {
  canonne_kamath_steinke,  // rdp + log((a-1)/a) - (log delta + log a)/(a-1); the same as Balle et al. 2020
  mironov,                 // rdp + log(1/delta)/(a-1); looser, only where a paper used it
};

// One order converted, rounding added. May be negative (then 0 is meant). Infinity for negative or NaN rdp, order <= 1
// (log((a-1)/a) is undefined at 1), or delta outside (0, 1).
[[nodiscard]] double ConvertRdp(double rdp, double order, double delta, RdpConversion conversion);

struct RdpEpsilon {
  double epsilon = 0;  // >= 0, upper bound; infinity with a reason
  double order = 0;    // the order that gave it; 0 when unbounded
  std::string reason;  // why unbounded: "negative-or-undefined-rdp", "no-finite-order"; else empty
};

// Best over the given orders; by the newer conversion, 0 where delta^2 > 1 - e^-rdp [Bretagnolle-Huber 1979]:
// the total variation is then at most delta. rdp[i] belongs to orders[i]; a negative or NaN entry makes the
// answer unbounded, since it shows that the curve is wrong; an infinite one is skipped.
[[nodiscard]] RdpEpsilon FindBestOrder(const std::vector<double>& orders, const std::vector<double>& rdp, double delta,
                                       RdpConversion conversion);

// Best over real orders of a curve: a grid that grows on the side where its best order stands at the edge,
// then refined between the neighbours of the best. Any order gives a valid bound, so a missed optimum
// costs tightness and never truth. 0 as for FindBestOrder, at order 2 or 1.1.
[[nodiscard]] RdpEpsilon ComputeEpsilonFromRdp(const std::function<double(double)>& curve, double delta,
                                               RdpConversion conversion = RdpConversion::canonne_kamath_steinke);

// epsilon at delta of `steps` subsampled Gaussian steps under add-remove adjacency.
[[nodiscard]] RdpEpsilon ComputeSubsampledGaussianEpsilon(double q, double z, double steps, double delta);

// The least noise multiplier, to 1e-9 relative, whose ComputeSubsampledGaussianEpsilon is at most epsilon.
// Infinity when none up to 1e6 does; NaN for arguments out of range.
[[nodiscard]] double ComputeSubsampledGaussianNoise(double q, double steps, double delta, double epsilon);

// An add-remove curve read as replace-one: one removal and one addition, so that (e, d) gives
// (2e, (1 + e^e) d). The least 2e over orders and d with (1 + e^e) d <= delta.
[[nodiscard]] RdpEpsilon ReplaceOneEpsilon(const std::function<double(double)>& curve, double delta);

}  // namespace retort::privacy
