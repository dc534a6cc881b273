#include "orchestrator/results/planned_selection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/selection.h"
#include "experiments/privacy/relation.h"
#include "experiments/privacy/selection_plan.h"

namespace retort::orchestrator {
namespace {

constexpr double kShownOrders[] = {2, 4, 8, 16, 32, 64};

std::vector<RdpPoint> FindCurve(const privacy::Claim& claim, const privacy::PrivacyEvent& event) {
  std::vector<RdpPoint> points;
  const privacy::Composition sum = privacy::ComposeEvents({claim.adjacency, claim.neighbour}, {event});
  if (!sum.unbounded.empty() || sum.selections.empty()) return points;
  const privacy::SelectionTerm& term = *sum.selections.front();
  for (const double order : kShownOrders)
    points.push_back({order, term.pool.ComputeRdp(order), privacy::ComputeSelectionRdp(term.law, term.pool, order)});
  return points;
}

bool AnyFinite(const std::vector<privacy::Claim>& claims) {
  return std::any_of(claims.begin(), claims.end(), [](const privacy::Claim& claim) {
    return claim.status == privacy::ClaimStatus::proven && std::isfinite(claim.epsilon);
  });
}

// Whether select.epsilon is about this claim.
bool IsAsked(const privacy::Claim& claim, const TrialSpec& first) {
  const privacy::Relation about = first.privacy.claim == ClaimTarget::label ? privacy::kLabel : privacy::kExampleAdded;
  return claim.status == privacy::ClaimStatus::proven && claim.adjacency == about.adjacency &&
         claim.neighbour == about.neighbour;
}

// The claim that select.epsilon is about, computed from what is drawn, not from what was solved for.
Status CheckEpsilon(const SelectSpec& select, const TrialSpec& first, const std::vector<privacy::Claim>& claims) {
  if (!select.epsilon || first.noise == NoiseMode::seeded) return {};
  for (const privacy::Claim& claim : claims) {
    if (!IsAsked(claim, first)) continue;
    if (claim.epsilon <= *select.epsilon) return {};
    return UsageError("the selection costs " + FormatExactNumber(claim.epsilon) +
                      ", more than epsilon = " + FormatExactNumber(*select.epsilon) +
                      " as asked: candidates of another cost than they were solved for");
  }
  return UsageError("the selection has no proven claim that epsilon = " + FormatExactNumber(*select.epsilon) +
                    " could be about");
}

}  // namespace

Result<PlannedSelection> PlanSelectionClaims(const SweepPlan& plan) {
  const SelectSpec& select = *plan.select;
  RETORT_ASSIGN_OR_RETURN(const privacy::DrawLaw law,
                          privacy::MakeDrawLaw(select.distribution, select.mean, select.eta));
  RETORT_ASSIGN_OR_RETURN(const privacy::PrivacyEvent event,
                          privacy::PlanSelection(law, plan.trials, 0, select.score_noise));
  const TrialSpec& first = plan.trials.front();
  PlannedSelection planned;
  planned.draws = privacy::DescribeDraws(law);
  planned.costs = event.selection->candidates.size();
  planned.claims = privacy::ComputeSelectionClaims(first, event);
  if (first.noise != NoiseMode::seeded && !AnyFinite(planned.claims)) {
    const std::string why =
        planned.claims.empty() ? "" : std::string(privacy::DescribeReason(planned.claims.front().reason));
    return UsageError("no claim of the selection has a finite bound at delta = " + std::to_string(first.privacy.delta) +
                      ". " + why);
  }
  RETORT_RETURN_IF_ERROR(CheckEpsilon(select, first, planned.claims));
  if (select.epsilon) planned.each = first.privacy.epsilon;
  for (const privacy::Claim& claim : planned.claims) {
    const bool proven = claim.status == privacy::ClaimStatus::proven;
    double alone = proven ? privacy::ComputeWorstCandidate(claim, event) : claim.epsilon;
    // As it is calibrated. A private score may cost more, and is no part of that.
    const bool calibrated = planned.each && select.score_noise == 0 && IsAsked(claim, first);
    if (calibrated) alone = std::min(alone, *planned.each);
    planned.candidate.push_back(alone);
    planned.curves.push_back(proven ? FindCurve(claim, event) : std::vector<RdpPoint>());
  }
  return planned;
}

}  // namespace retort::orchestrator
