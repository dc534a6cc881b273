#include <algorithm>
#include <cmath>

#include "experiments/privacy/calibration.h"
#include "experiments/privacy/calibration_parts.h"

namespace retort::privacy {
namespace {

// The largest value in (low, high] at which `meets` holds, to nine digits; 0 when it holds nowhere. `meets` holds up
// to some value and not above.
template <typename Meeting>
double LargestMeeting(double high, const Meeting& meets) {
  if (meets(high)) return high;
  double low = 0;
  for (int round = 0; round < 60 && high - low > 1e-10 * high; ++round) {
    const double middle = (low + high) / 2;
    (meets(middle) ? low : high) = middle;
  }
  const double digits = low > 0 ? std::pow(10.0, 8 - std::floor(std::log10(low))) : 1;
  return std::floor(low * digits) / digits;
}

}  // namespace

Status SolveResponse(TrialSpec& spec, const Relation& relation) {
  TrialSpec one = spec;
  const auto meets = [&](double epsilon0) {
    one.epsilon0 = epsilon0;
    return PlannedEpsilon(one, relation) <= spec.epsilon;
  };
  one.epsilon0 = 1;
  RETORT_ASSIGN_OR_RETURN([[maybe_unused]] const double mu, PlannedMu(one, relation));  // why there is no bound
  spec.epsilon0 = LargestMeeting(std::min(spec.epsilon, 1000.0) * 1.0, meets);
  if (!(spec.epsilon0 > 0)) return Cannot(spec, "no epsilon0 of a response, however small, reaches it.");
  return {};
}

Status SolveResponseSteps(TrialSpec& spec, const Relation& relation) {
  if (!(spec.epsilon0 > 0)) return Cannot(spec, "calibrate = \"steps\" needs epsilon0 above 0.");
  if (relation.adjacency == Adjacency::answer)
    return Cannot(spec, "that claim is about one answer and does not depend on steps; use calibrate = \"noise\".");
  TrialSpec one = spec;
  const auto fits = [&](std::int64_t steps) {
    one.steps = steps;
    return PlannedEpsilon(one, relation) <= spec.epsilon;
  };
  one.steps = 1;
  RETORT_ASSIGN_OR_RETURN([[maybe_unused]] const double mu, PlannedMu(one, relation));
  if (!fits(1)) return Cannot(spec, "one step alone costs more at this epsilon0; lower it, or raise epsilon.");
  std::int64_t low = 1, high = 2;
  while (fits(high)) {
    low = high;
    high *= 2;
    if (high > kMostReleases / std::max<std::int64_t>(spec.batch, 1))
      return Cannot(spec, "epsilon0 is so small that a trillion answers do not spend it.");
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  spec.steps = low;
  return {};
}

Status SolveEmbedding(TrialSpec& spec) {
  if (spec.claim != ClaimTarget::example) return Cannot(spec, spec.method + " has the claim \"example\" only.");
  if (spec.calibrate == Calibrate::steps)
    return Cannot(spec, spec.method + " releases once, whatever its steps; use calibrate = \"noise\".");
  TrialSpec one = spec;
  const auto meets = [&](double inverse) {
    one.noise_multiplier = 1 / inverse;
    return Meets(one, kExampleAdded);
  };
  const double inverse = LargestMeeting(1e6, meets);
  if (!(inverse > 0)) return Cannot(spec, "no noise multiplier up to a million reaches it.");
  spec.noise_multiplier = NineDigitsUp(1 / inverse);
  return {};
}

}  // namespace retort::privacy
