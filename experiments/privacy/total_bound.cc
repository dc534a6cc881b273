#include "experiments/privacy/total_bound.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/rdp_accountant.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

// Why the event leaves a total without a bound, whatever it is composed with: what its trial's claims were denied for
// (ChargedEvents) goes first.
std::string ProblemIn(const PrivacyEvent& event) {
  std::string problem = VoidOf(event, kExampleAdded);
  if (problem.empty()) problem = EventProblem(event);
  if (problem.empty() && event.count != 0) problem = MissingFact(event, kExampleAdded);
  return problem;
}

// What all trials compose to for an added example; nothing when they charge nothing.
std::optional<Composition> TotalOf(const std::vector<std::vector<PrivacyEvent>>& trials) {
  std::vector<PrivacyEvent> all;
  for (const std::vector<PrivacyEvent>& events : trials) all.insert(all.end(), events.begin(), events.end());
  all = Aggregate(all);
  Composition unbounded;
  for (const PrivacyEvent& event : all)
    if (unbounded.unbounded.empty()) unbounded.unbounded = ProblemIn(event);
  if (!unbounded.unbounded.empty()) return unbounded;
  std::erase_if(all, [](const PrivacyEvent& event) { return event.count == 0; });
  if (all.empty()) return std::nullopt;
  return ComposeFor(kExampleAdded, all);
}

// The bound that a trial would claim which released all of it.
Bound BoundIn(const Composition& sum, double delta) {
  if (sum.unbounded.empty() && sum.empty() && delta > 0 && delta < 1) return {0, "", ""};
  return BoundOf(sum, delta);
}

}  // namespace

Bound TotalBound(const std::vector<std::vector<PrivacyEvent>>& trials, double delta,
                 std::vector<std::string>* assumptions) {
  const std::optional<Composition> sum = TotalOf(trials);
  if (!sum) return {0, "", ""};
  if (assumptions != nullptr) *assumptions = sum->assumptions;
  return BoundIn(*sum, delta);
}

double TotalEpsilon(const std::vector<std::vector<PrivacyEvent>>& trials, double delta) {
  return TotalBound(trials, delta).epsilon;
}

std::optional<double> TotalEpsilonOver(const std::vector<std::vector<PrivacyEvent>>& trials,
                                       const Budget& budget) {
  const std::optional<Composition> sum = TotalOf(trials);
  if (!sum) return std::nullopt;
  // Any one order bounds the total; whole ones are quick, and far from the cap one of them is enough.
  const double delta = DeltaLeft(*sum, budget.delta);
  if (sum->unbounded.empty() && delta > 0 && delta < 1) {
    const auto curve = RdpCurveOf(*sum);
    for (const double order : {5.0, 9.0, 17.0, 3.0, 33.0, 2.0}) {
      const double epsilon =
          ConvertRdp(curve(order), order, delta, RdpConversion::canonne_kamath_steinke);
      if (RoundEpsilonUp(std::max(epsilon, 0.0)) <= budget.epsilon) return std::nullopt;
    }
  }
  const double total = BoundIn(*sum, budget.delta).epsilon;
  return total <= budget.epsilon ? std::nullopt : std::optional(total);
}

}  // namespace retort::privacy
