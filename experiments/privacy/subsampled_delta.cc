#include "experiments/privacy/subsampled_delta.h"

#include <cmath>

#include "experiments/privacy/exact_gdp.h"

namespace retort::privacy {
namespace {

bool InRange(double q, double z, double epsilon) {
  return q > 0 && q <= 1 && z > 0 && std::isfinite(z) && std::isfinite(epsilon);
}

}  // namespace

double SubsampledDeltaRemove(double q, double z, double epsilon) {
  if (!InRange(q, z, epsilon)) return 1;
  const double odds = std::expm1(epsilon) / q;  // e^epsilon - 1, over q
  if (odds <= -1) return -std::expm1(epsilon);  // every loss is larger
  const double inner =
      epsilon > 30 ? epsilon - std::log(q) + std::log1p(-(1 - q) * std::exp(-epsilon)) : std::log1p(odds);
  return q * std::exp(GaussianLogDelta(inner, 1 / z));
}

double SubsampledDeltaAdd(double q, double z, double epsilon) {
  if (!InRange(q, z, epsilon)) return 1;
  const double kept = q - (1 - q) * std::expm1(epsilon);  // 1 - e^epsilon (1-q)
  if (kept <= 0) return 0;
  const double inner = epsilon + std::log(q) - std::log(kept);
  return kept * std::exp(GaussianLogDelta(inner, 1 / z));
}

}  // namespace retort::privacy
