#include "experiments/privacy/accountants/composition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/pld_accountant.h"
#include "experiments/privacy/accountants/randomized_response.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/selection.h"
#include "experiments/privacy/accountants/vote_costs.h"

namespace retort::privacy {
namespace {

constexpr std::int64_t kWorstChoices = 2;
constexpr const char* kPair = ", one removal and one addition";

Bound Unbounded(std::string_view why) { return {kInfinity, "", std::string(why)}; }

Bound Finished(double epsilon, std::string accountant, std::string how) {
  const double rounded = RoundEpsilonUp(epsilon);
  if (!std::isfinite(rounded)) return Unbounded(reason::kNoBound);
  return {rounded, std::move(accountant), std::move(how)};
}

Bound GaussianBound(const std::vector<GaussianTerm>& terms, double delta) {
  const double mu = ComputeComposedMu(terms);
  const double epsilon = ComputeGaussianEpsilon(delta, mu);
  if (!std::isfinite(epsilon)) return Unbounded(reason::kTooLarge);
  std::int64_t draws = 0;
  for (const GaussianTerm& term : terms)
    draws += std::min(term.count, std::numeric_limits<std::int64_t>::max() - draws);
  return Finished(epsilon, "exact-gdp",
                  "mu " + FormatSixDigits(mu) + " over " + std::to_string(draws) + (draws == 1 ? " draw" : " draws"));
}

// As if every step took every example. Given which examples a step takes, its sum changes by the norm bound
// where an example is added or removed and by twice that where one is replaced; not knowing which adds
// nothing.
Bound UnsampledBound(const Composition& composition, double delta) {
  std::vector<GaussianTerm> terms = composition.gaussian;
  for (const SubsampledTerm& term : composition.subsampled)
    terms.push_back({term.steps, 1, term.multiplier, composition.replace_one ? 4 : 1});
  Bound bound = GaussianBound(terms, delta);
  if (std::isfinite(bound.epsilon)) bound.reason += ", sampling left out";
  return bound;
}

bool OneLattice(const Composition& composition) {
  if (!composition.gaussian.empty() || !composition.subsampled.empty() || !composition.tests.empty() ||
      composition.responses.size() != 1) {
    return false;
  }
  return composition.responses.front().count <= kMaxResponseLattice;
}

Bound RdpBound(const Composition& composition, bool pair, double delta) {
  const std::function<double(double)> curve = MakeRdpCurve(composition);
  const RdpEpsilon best = pair ? ReplaceOneEpsilon(curve, delta) : ComputeEpsilonFromRdp(curve, delta);
  if (!std::isfinite(best.epsilon)) return Unbounded(best.reason.empty() ? reason::kNoBound : best.reason);
  const std::string order = "order " + FormatSixDigits(best.order);
  if (pair) return Finished(best.epsilon, "rdp-group-of-2", order + kPair);
  return Finished(best.epsilon, "rdp", order);
}

Bound PldBound(const SubsampledTerm& term, bool pair, double delta) {
  if (pair) {
    const PldBracket replaced =
        ComputeSubsampledGaussianPldReplaced(term.sampling_rate, term.multiplier, term.steps, delta, kInfinity);
    if (!(replaced.upper >= replaced.lower)) return Unbounded(reason::kNoBound);
    return Finished(replaced.upper, "pld", "opposite gradients bind");
  }
  const PldBracket bracket =
      ComputeSubsampledGaussianPld(term.sampling_rate, term.multiplier, term.steps, delta, kInfinity);
  if (bracket.rdp_order > 0 || !(bracket.upper >= bracket.lower)) return Unbounded(reason::kNoBound);
  return Finished(bracket.upper, "pld", bracket.removal_binds ? "removal binds" : "addition binds");
}

bool OneSubsampled(const Composition& composition) {
  return composition.gaussian.empty() && composition.responses.empty() && composition.tests.empty() &&
         composition.subsampled.size() == 1 && composition.subsampled.front().steps <= kMaxPldSteps;
}

double SumTests(const std::vector<TestTerm>& tests, double order) {
  double rdp = 0;
  for (const TestTerm& term : tests)
    rdp += static_cast<double>(term.count) * SmoothGaussianRdp(order, term.smoothness, term.noise, term.moved);
  return rdp;
}

// The Gaussian terms at what a test let by, and the test itself. What passes although it costs more is taken off delta.
Bound TestedBound(const Composition& composition, double delta) {
  const bool alone = composition.subsampled.empty() && composition.responses.empty();
  if (!composition.tested || !alone) return Unbounded(reason::kNoBound);
  const TestedCost& tested = *composition.tested;
  const double left = std::nextafter(delta - tested.missing, 0.0);
  if (!(left >= delta / 2)) return Unbounded(reason::kNoBound);
  const double rdp = tested.cost + SumTests(composition.tests, tested.order);
  const double epsilon = ConvertRdp(rdp, tested.order, left, RdpConversion::canonne_kamath_steinke);
  return Finished(std::max(epsilon, 0.0), "rdp-tested",
                  "order " + FormatSixDigits(tested.order) + ", where a test let by a cost of " +
                      FormatSixDigits(tested.cost) + " at most");
}

bool OneSelection(const Composition& composition) {
  return composition.gaussian.empty() && composition.subsampled.empty() && composition.responses.empty() &&
         composition.tests.empty() && composition.selections.size() == 1 && composition.selections.front()->count == 1;
}

// One selection, or selections beside anything else by the sum of their RDP. What K and noise with an end give away has
// to fit into a part of delta that is kept for it. Under `replace` a curve of sampled steps is one of half a step,
// which does not add up with that of a selection.
Bound BoundSelections(const Composition& composition, double delta) {
  constexpr double kKept = 1e-6;
  if (OneSelection(composition)) {
    const SelectionTerm& term = *composition.selections.front();
    return ComputeSelectionBound(term.law, term.pool, delta);
  }
  if (composition.replace_one && !composition.subsampled.empty()) return Unbounded(reason::kNoBound);
  Bound bound = RdpBound(composition, false, delta * (1 - 2 * kKept));
  if (!std::isfinite(bound.epsilon)) return bound;
  double distance = 0;
  for (const auto& term : composition.selections) distance += ComputeSelectionDistance(*term);
  if (!(std::log(distance) + bound.epsilon + 0.7 < std::log(delta * kKept))) return Unbounded(reason::kDrawsEnd);
  return bound;
}

}  // namespace

std::function<double(double)> MakeRdpCurve(const Composition& composition) {
  const double mu_squared = ComputeMuSquaredUp(composition.gaussian);
  return [mu_squared, subsampled = composition.subsampled, responses = composition.responses, tests = composition.tests,
          selections = composition.selections](double order) {
    double rdp = order * mu_squared / 2;
    for (const SubsampledTerm& term : subsampled) {
      rdp += static_cast<double>(term.steps) * ComputeSubsampledGaussianRdp(term.sampling_rate, term.multiplier, order);
    }
    for (const ResponseTerm& term : responses) {
      rdp += static_cast<double>(term.count) * ComputeResponseRdp(term.epsilon0, kWorstChoices, order);
    }
    for (const auto& term : selections)
      rdp += static_cast<double>(term->count) * ComputeSelectionRdp(term->law, term->pool, order);
    return rdp + SumTests(tests, order);
  };
}

double ComputeRemainingDelta(const Composition& composition, double delta) {
  if (composition.missing == 0) return delta;
  const double left = delta - composition.missing;
  if (!(left >= delta / 2)) return 0;
  return left < delta ? std::nextafter(left, 0.0) : left;
}

Bound ComputeBound(const Composition& composition, double whole_delta) {
  if (!composition.unbounded.empty()) return Unbounded(composition.unbounded);
  if (!(whole_delta > 0 && whole_delta < 1)) return Unbounded(reason::kBadDelta);
  if (composition.empty()) return Unbounded(reason::kNoRelease);
  const double delta = ComputeRemainingDelta(composition, whole_delta);
  if (delta == 0) return Unbounded(reason::kNoiseEnds);
  if (!composition.selections.empty()) return BoundSelections(composition, delta);
  if (composition.subsampled.empty() && composition.responses.empty() && composition.tests.empty())
    return GaussianBound(composition.gaussian, delta);
  if (OneLattice(composition)) {
    const ResponseTerm& term = composition.responses.front();
    return Finished(ComputeComposedResponseEpsilon(term.epsilon0, kWorstChoices, term.count, delta), "exact-lattice",
                    std::to_string(term.count) + " answers at two choices");
  }
  const bool pair = composition.replace_one && !composition.subsampled.empty();
  Bound bound = RdpBound(composition, pair, delta);
  const auto improve = [&bound](Bound other) {
    if (other.epsilon < bound.epsilon) bound = std::move(other);
  };
  if (composition.responses.empty() && composition.tests.empty()) improve(UnsampledBound(composition, delta));
  improve(TestedBound(composition, delta));
  if (OneSubsampled(composition)) improve(PldBound(composition.subsampled.front(), pair, delta));
  return bound;
}

}  // namespace retort::privacy
