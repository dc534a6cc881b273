#include "experiments/privacy/composition.h"

#include <cmath>
#include <limits>
#include <utility>

#include "experiments/privacy/number_text.h"
#include "experiments/privacy/randomized_response.h"
#include "experiments/privacy/rdp_accountant.h"
#include "experiments/privacy/reasons.h"

namespace retort::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kWorstChoices = 2;

Bound Unbounded(std::string_view why) { return {kInfinity, "", std::string(why)}; }

Bound Finished(double epsilon, std::string accountant, std::string how) {
  const double rounded = RoundEpsilonUp(epsilon);
  if (!std::isfinite(rounded)) return Unbounded(reason::kNoBound);
  return {rounded, std::move(accountant), std::move(how)};
}

Bound GaussianBound(const Composition& composition, double delta) {
  const double mu = ComposedMu(composition.gaussian);
  if (!std::isfinite(mu)) return Unbounded(reason::kNotFinite);
  std::int64_t draws = 0;
  for (const GaussianTerm& term : composition.gaussian) draws += term.count;
  return Finished(
      GaussianEpsilon(delta, mu), "exact-gdp",
      "mu " + ShortNumber(mu) + " over " + std::to_string(draws) + (draws == 1 ? " draw" : " draws"));
}

bool OneLattice(const Composition& composition) {
  if (!composition.gaussian.empty() || !composition.subsampled.empty() || composition.responses.size() != 1) {
    return false;
  }
  return composition.responses.front().count <= kLongestResponseLattice;
}

}  // namespace

std::function<double(double)> RdpCurveOf(const Composition& composition) {
  const double mu_squared = MuSquaredUp(composition.gaussian);
  return [mu_squared, subsampled = composition.subsampled, responses = composition.responses](double order) {
    double rdp = order * mu_squared / 2;
    for (const SubsampledTerm& term : subsampled) {
      rdp +=
          static_cast<double>(term.steps) * SubsampledGaussianRdp(term.sampling_rate, term.multiplier, order);
    }
    for (const ResponseTerm& term : responses) {
      rdp += static_cast<double>(term.count) * ResponseRdp(term.epsilon0, kWorstChoices, order);
    }
    return rdp;
  };
}

Bound BoundOf(const Composition& composition, double delta) {
  if (!composition.unbounded.empty()) return Unbounded(composition.unbounded);
  if (!(delta > 0 && delta < 1)) return Unbounded(reason::kBadDelta);
  if (composition.empty()) return Unbounded(reason::kNoRelease);
  if (composition.subsampled.empty() && composition.responses.empty())
    return GaussianBound(composition, delta);
  if (OneLattice(composition)) {
    const ResponseTerm& term = composition.responses.front();
    return Finished(ComposedResponseEpsilon(term.epsilon0, kWorstChoices, term.count, delta), "exact-lattice",
                    std::to_string(term.count) + " answers at two choices");
  }
  const std::function<double(double)> curve = RdpCurveOf(composition);
  const bool pair = composition.replace_by_pair && !composition.subsampled.empty();
  const RdpEpsilon best = pair ? ReplaceOneEpsilon(curve, delta) : EpsilonFromRdp(curve, delta);
  if (!std::isfinite(best.epsilon)) return Unbounded(best.reason.empty() ? reason::kNoBound : best.reason);
  if (pair)
    return Finished(best.epsilon, "rdp-group-of-2",
                    "order " + ShortNumber(best.order) + ", one removal and one addition");
  return Finished(best.epsilon, "rdp", "order " + ShortNumber(best.order));
}

}  // namespace retort::privacy
