#include "experiments/privacy/selection_calibration.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "experiments/privacy/selection_plan.h"

namespace retort::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kThousand = 1000;                       // claims are in thousandths, and so is what is solved for
constexpr std::size_t kMaxDeciding = 3;                  // candidates that are solved for before all are
constexpr std::int64_t kMaxThousandths = 1'000'000'000;  // of the largest epsilon that a trial may be given

// Equal for candidates that cost the same when they are calibrated to the same: noise on norms is a multiple of the
// bound.
std::string MakeCostKey(TrialSpec spec) {
  if (TrainsByDpSgd(FindKind(spec))) spec.release.norm_bound = 1;
  return MakeCalibrationKey(spec);
}

// One of all that cost the same. Error: usage, for a trial that is no candidate.
Result<std::vector<TrialSpec>> ListUnlike(std::span<const TrialSpec> candidates, double score_noise) {
  RETORT_RETURN_IF_ERROR(CheckEachCandidate(candidates, score_noise));
  std::vector<TrialSpec> unlike;
  std::unordered_set<std::string> seen;
  for (const TrialSpec& spec : candidates) {
    if (!seen.insert(MakeCostKey(spec)).second) continue;
    unlike.push_back(spec);
    unlike.back().name = NameCandidate(spec);
  }
  if (unlike.empty()) return UsageError("there is no candidate to select from");
  return unlike;
}

// What lies between the largest epsilon that is known to do and the least that is known not to, in thousandths.
struct Bracket {
  std::int64_t low = 0, high = kMaxThousandths + 1;
  double at_low = 0, at_high = kInfinity;  // what the selection costs there
  bool met = false;  // at `low` every candidate is calibrated, and the selection costs little enough
};

// What a selection costs; where a candidate cannot be calibrated to so little, that.
struct SelectionCost {
  double epsilon = kInfinity;
  bool too_little = false;
};

// By a line through both ends, as far as they are known; every third time in the middle, so that the search ends.
std::int64_t ProposeNext(const Bracket& bracket, double aim, int round) {
  const std::int64_t width = bracket.high - bracket.low;
  std::int64_t next = bracket.low + width / 2;
  if (bracket.high > kMaxThousandths) {
    next = bracket.low + bracket.low / 2 + 1;
  } else if (std::isfinite(bracket.at_high) && round % 3 != 2) {
    const double part = (aim - bracket.at_low) / (bracket.at_high - bracket.at_low);
    next = bracket.low + static_cast<std::int64_t>(part * static_cast<double>(width));
  }
  return std::clamp(next, bracket.low + 1, bracket.high - 1);
}

class CandidateSearch {
 public:
  CandidateSearch(const SelectionAim& aim, std::vector<TrialSpec> candidates, Calibrator& calibrator)
      : aim_(aim),
        candidates_(std::move(candidates)),
        calibrator_(calibrator),
        relation_(candidates_.front().privacy.claim == ClaimTarget::label ? kLabel : kExampleAdded),
        delta_(candidates_.front().privacy.delta) {
    for (const TrialSpec& spec : candidates_) {
      lost_runs_ = std::max(lost_runs_, spec.execution.retries);
      all_.push_back(all_.size());
    }
  }

  // A few of the candidates decide, most often one: they are solved for, and what is found is tried on all. What is too
  // much for a few is too much for all.
  Result<double> Solve() {
    RETORT_RETURN_IF_ERROR(CheckScore());
    std::vector<std::size_t> deciding = {0};
    Bracket bracket;
    auto next = static_cast<std::int64_t>(aim_.epsilon * kThousand * 2 / 3);
    for (;;) {
      RETORT_RETURN_IF_ERROR(Narrow(deciding, next, bracket));
      if (!bracket.met) return ExplainNone(bracket);
      RETORT_ASSIGN_OR_RETURN(const SelectionCost cost, ComputeCost(all_, bracket.low));
      if (cost.too_little) return ExplainNone(bracket);
      if (deciding.size() == all_.size() || cost.epsilon <= aim_.epsilon)
        return static_cast<double>(bracket.low) / kThousand;
      RETORT_RETURN_IF_ERROR(AddWorst(bracket.low, deciding));
      next = static_cast<std::int64_t>(static_cast<double>(bracket.low) * aim_.epsilon / cost.epsilon);
      bracket = {0, bracket.low, 0, cost.epsilon};
    }
  }

 private:
  // Searches in the bracket, from `next` on, until its ends are neighbours.
  Status Narrow(const std::vector<std::size_t>& deciding, std::int64_t next, Bracket& bracket) {
    next = std::clamp(next, bracket.low + 1, std::max(bracket.high - 1, bracket.low + 1));
    for (int round = 0; bracket.high - bracket.low > 1; ++round) {
      RETORT_ASSIGN_OR_RETURN(const SelectionCost cost, ComputeCost(deciding, next));
      if (cost.too_little || cost.epsilon <= aim_.epsilon) {
        bracket.low = next;
        bracket.at_low = cost.too_little ? 0 : cost.epsilon;
        bracket.met = !cost.too_little;
      } else {
        bracket.high = next;
        bracket.at_high = cost.epsilon;
      }
      next = ProposeNext(bracket, aim_.epsilon, round);
    }
    return {};
  }

  // The candidate that costs most by itself, and after some of them all.
  Status AddWorst(std::int64_t thousandths, std::vector<std::size_t>& deciding) {
    std::optional<std::size_t> worst;
    double most = 0;
    for (const std::size_t i : all_) {
      if (std::find(deciding.begin(), deciding.end(), i) != deciding.end()) continue;
      RETORT_ASSIGN_OR_RETURN(const SelectionCost cost, ComputeCost({i}, thousandths));
      if (worst && cost.epsilon <= most) continue;
      worst = i;
      most = cost.epsilon;
    }
    if (worst && deciding.size() < kMaxDeciding)
      deciding.push_back(*worst);
    else
      deciding = all_;
    return {};
  }

  [[nodiscard]] Status ExplainNone(const Bracket& bracket) const {
    const std::string least = FormatExactNumber(static_cast<double>(bracket.high) / kThousand);
    if (std::isfinite(bracket.at_high))
      return UsageError("the best of candidates at epsilon = " + least + " costs " + FormatSixDigits(bracket.at_high) +
                        ", more than " + FormatExactNumber(aim_.epsilon) + ": raise it, or lower mean" +
                        (uncalibrated_.empty() ? "" : ". To less they cannot be calibrated. " + uncalibrated_));
    if (why_.empty()) return UsageError(uncalibrated_);
    return UsageError("no epsilon of a candidate, however small, leaves the selection a bound at delta = " +
                      FormatExactNumber(delta_) + ". " + why_);
  }

  [[nodiscard]] Bound FindBound(const PrivacyEvent& event) const {
    return ComputeRelationBound(relation_, {event}, delta_, nullptr);
  }

  // The score costs the same whatever the candidates do.
  Status CheckScore() const {
    if (aim_.score_noise == 0) return {};
    TrialSpec scored = candidates_.front();
    scored.score_noise = aim_.score_noise;
    PrivacyEvent score = PlanScore(scored);
    score.source = NoiseSource::secure_lattice;
    score.Count(lost_runs_);
    PrivacyEvent event;
    event.kind = MechanismKind::private_selection;
    event.unit = EventUnit::batch;
    event.count = 1;
    event.source = NoiseSource::secure_lattice;
    event.selection = std::make_shared<PrivateSelection>(PrivateSelection{aim_.law, {{std::move(score)}}});
    const Bound bound = FindBound(event);
    if (bound.epsilon <= aim_.epsilon) return {};
    const std::string costs = std::isfinite(bound.epsilon)
                                  ? "costs " + FormatSixDigits(bound.epsilon) + " with the choice, more than " +
                                        FormatExactNumber(aim_.epsilon) + ": raise score_noise, or lower mean"
                                  : "has no bound with the choice: " + std::string(DescribeReason(bound.reason));
    return UsageError("the private score alone, with score_noise = " + FormatExactNumber(aim_.score_noise) +
                      " and delta = " + FormatExactNumber(delta_) + ", " + costs);
  }

  // Of the selection from some candidates, each of which may cost so much; infinity, and why, where there is no bound.
  // A number of releases that has to be solved for is none where one alone costs more: then the epsilon is too small.
  Result<SelectionCost> ComputeCost(const std::vector<std::size_t>& some, std::int64_t thousandths) {
    std::vector<TrialSpec> drawn;
    for (const std::size_t i : some) {
      TrialSpec& spec = drawn.emplace_back(candidates_[i]);
      spec.privacy.epsilon = static_cast<double>(thousandths) / kThousand;
      if (const Status solved = calibrator_.Calibrate(spec); !solved.ok()) {
        if (thousandths >= uncalibrated_at_) uncalibrated_ = "Of the candidate " + spec.name + ": " + solved.message();
        uncalibrated_at_ = std::max(uncalibrated_at_, thousandths);
        return SelectionCost{kInfinity, spec.privacy.calibrate == Calibrate::steps};
      }
      spec.noise = NoiseMode::secure;
    }
    RETORT_ASSIGN_OR_RETURN(const PrivacyEvent event, PlanSelection(aim_.law, drawn, lost_runs_, aim_.score_noise));
    const Bound bound = FindBound(event);
    if (!std::isfinite(bound.epsilon)) why_ = DescribeReason(bound.reason);
    return SelectionCost{bound.epsilon};
  }

  const SelectionAim& aim_;
  const std::vector<TrialSpec> candidates_;
  Calibrator& calibrator_;
  const Relation relation_;
  const double delta_;
  std::vector<std::size_t> all_;  // indices of candidates_
  std::int64_t lost_runs_ = 0;
  std::string why_;           // there was no bound, the last time that there was none
  std::string uncalibrated_;  // the candidate that could not be calibrated to the most that was tried, and why
  std::int64_t uncalibrated_at_ = 0;
};

}  // namespace

Result<double> SolveCandidateEpsilon(const SelectionAim& aim, std::span<const TrialSpec> candidates,
                                     Calibrator& calibrator) {
  RETORT_ASSIGN_OR_RETURN(std::vector<TrialSpec> unlike, ListUnlike(candidates, aim.score_noise));
  return CandidateSearch(aim, std::move(unlike), calibrator).Solve();
}

}  // namespace retort::privacy
