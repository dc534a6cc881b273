#include "experiments/privacy/calibration.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "experiments/privacy/calibration_parts.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/exact_gdp.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/privacy/paper_value.h"
#include "experiments/privacy/parameter_key.h"
#include "experiments/privacy/pld_accountant.h"
#include "experiments/privacy/rdp_accountant.h"
#include "experiments/privacy/reasons.h"
#include "experiments/privacy/relation.h"
#include "experiments/spec/trial_kind.h"
#include "experiments/spec/trial_rules.h"

namespace retort::privacy {
namespace {

// Gradient and vote students: mu is inverse in the noise and grows with the root of the releases.
Status SolveNoise(TrialSpec& spec, const Relation& relation, double TrialSpec::*noise) {
  TrialSpec unit = spec;
  unit.*noise = 1;
  RETORT_ASSIGN_OR_RETURN(const double mu, PlannedMu(unit, relation));
  const double target = GaussianMu(AimOf(spec.epsilon), spec.delta);
  if (!(target > 0)) return Cannot(spec, "no amount of noise reaches an epsilon this small.");
  spec.*noise = NineDigitsUp(mu / target);
  for (int round = 0; round < 100 && !Meets(spec, relation); ++round)
    spec.*noise = NineDigitsUp(spec.*noise * (1 + 1e-8));
  return {};
}

Status SolveReleases(TrialSpec& spec, const Relation& relation, std::int64_t TrialSpec::*count,
                     const char* key) {
  if (relation.adjacency == Adjacency::answer) {
    return Cannot(spec, "that claim is about one answer and does not depend on " + std::string(key) +
                            "; use calibrate = \"noise\".");
  }
  TrialSpec one = spec;
  one.*count = 1;
  one.retries = 0;
  RETORT_ASSIGN_OR_RETURN(const double mu, PlannedMu(one, relation));
  const double target = GaussianMu(spec.epsilon, spec.delta);
  const double ratio = target / mu;
  if (!(ratio * ratio < static_cast<double>(kMostReleases))) {
    return Cannot(spec, "the noise is so large that " + std::to_string(kMostReleases) + " " + key +
                            " do not spend it.");
  }
  const auto meets = [&](std::int64_t releases) {
    spec.*count = releases;
    return Meets(spec, relation);
  };
  // Without retries the first or second try holds.
  std::int64_t high = static_cast<std::int64_t>(std::floor(ratio * ratio)) + 1;
  for (int tries = 0; tries < 4 && high >= 1; ++tries, --high)
    if (meets(high)) return {};
  std::int64_t low = 0;  // holds; high + 1 does not
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (meets(middle))
      low = middle;
    else
      high = middle - 1;
  }
  spec.*count = low;
  if (low >= 1) return {};
  return Cannot(spec, "one of the " + std::string(key) +
                          " alone costs more at this noise; raise the noise or epsilon.");
}

// Epsilon of one label, without composition.
Status SolvePaperLabel(TrialSpec& spec) {
  if (spec.calibrate == Calibrate::steps)
    return Cannot(spec, "the paper composes nothing: its epsilon does not depend on steps; use calibrate = \"noise\".");
  spec.epsilon0 = spec.epsilon;
  return {};
}

// Inverse in sigma.
Status SolvePaperQueries(TrialSpec& spec) {
  if (spec.calibrate == Calibrate::steps)
    return Cannot(spec, "rona's epochs are keys of their own; use calibrate = \"noise\".");
  TrialSpec unit = spec;
  unit.sigma = 1;
  const double epsilon = PaperFormulaOf(unit).epsilon;
  if (!std::isfinite(epsilon) || !(epsilon > 0)) return Cannot(spec, "the paper's formula is undefined here.");
  spec.sigma = NineDigitsUp(epsilon / AimOf(spec.epsilon));
  return {};
}

Status SolvePaper(TrialSpec& spec) {
  if (!spec.data) return Cannot(spec, "the trial has no data set.");
  if (KindOf(spec) == TrialKind::response_student) return SolvePaperLabel(spec);
  if (KindOf(spec) == TrialKind::query_student) return SolvePaperQueries(spec);
  if (KindOf(spec) != TrialKind::gradient_student) {
    return Cannot(spec, "the paper's formula is about noisy gradients, which this trial does not release.");
  }
  GradientFormula formula;
  formula.norm_bound = spec.norm_bound;
  formula.sigma = spec.sigma;
  formula.classes = static_cast<double>(spec.data->classes);
  formula.rows = static_cast<double>(spec.batch) * static_cast<double>(spec.steps);
  formula.delta = spec.delta;
  if (spec.calibrate == Calibrate::noise) {
    RETORT_ASSIGN_OR_RETURN(const double sigma, GradientFormulaSigma(formula, AimOf(spec.epsilon)));
    spec.sigma = NineDigitsUp(sigma);
    return {};
  }
  RETORT_ASSIGN_OR_RETURN(const double rows, GradientFormulaRows(formula, AimOf(spec.epsilon)));
  const double steps = std::floor(rows / static_cast<double>(spec.batch));
  if (steps < 1) return Cannot(spec, "one step alone costs more by the formula; raise sigma or epsilon.");
  if (steps > static_cast<double>(kMostReleases))
    return Cannot(spec, "the formula allows more steps than can be run.");
  spec.steps = static_cast<std::int64_t>(steps);
  return {};
}

// Every step over all examples: exact, as for gradients of outputs.
Status SolveDpGd(TrialSpec& spec) {
  if (spec.calibrate == Calibrate::noise) return SolveNoise(spec, kExampleAdded, &TrialSpec::noise_multiplier);
  if (!(spec.noise_multiplier > 0))
    return Cannot(spec, "calibrate = \"steps\" needs noise_multiplier above 0.");
  return SolveReleases(spec, kExampleAdded, &TrialSpec::steps, "steps");
}

Status SolveDpSgd(TrialSpec& spec) {
  if (spec.claim != ClaimTarget::example)
    return Cannot(spec, "DP-SGD training has the claim \"example\" only.");
  TrialSpec unit = spec;
  if (spec.calibrate == Calibrate::noise) unit.noise_multiplier = 1;
  RETORT_ASSIGN_OR_RETURN(const std::vector<PrivacyEvent> events, PlannedEvents(unit));
  const double rate = events.front().sampling_rate;
  if (rate == 1) return SolveDpGd(spec);
  const auto charged = [&spec](std::int64_t steps) {
    return steps + spec.retries * std::min(steps, spec.reserve_block);
  };
  const auto meets = [&](double z, std::int64_t steps) {
    TrialSpec one = spec;
    one.noise_multiplier = z;
    one.steps = steps;
    return PlannedEpsilon(one, kExampleAdded) <= spec.epsilon;
  };
  if (spec.calibrate == Calibrate::noise) {
    const std::int64_t steps = charged(spec.steps);
    const double aim = AimOf(spec.epsilon);
    const double noise = steps > kMostPldSteps
                             ? SubsampledGaussianNoise(rate, static_cast<double>(steps), spec.delta, aim)
                             : SubsampledGaussianPldNoise(rate, steps, spec.delta, aim);
    if (!std::isfinite(noise)) return Cannot(spec, "no noise multiplier up to a million reaches it.");
    // Neither search is smooth to its last digits, so the rounded value is tried.
    spec.noise_multiplier = SixDigitsUp(noise);
    for (int round = 0; round < 100 && !meets(spec.noise_multiplier, spec.steps); ++round)
      spec.noise_multiplier = SixDigitsUp(spec.noise_multiplier * (1 + 1e-6));
    if (!meets(spec.noise_multiplier, spec.steps)) return Cannot(spec, "the search for its noise did not end.");
    return {};
  }
  if (!(spec.noise_multiplier > 0))
    return Cannot(spec, "calibrate = \"steps\" needs noise_multiplier above 0.");
  const auto fits = [&](std::int64_t steps) { return meets(spec.noise_multiplier, steps); };
  if (!fits(1))
    return Cannot(spec, "one step alone costs more at this noise_multiplier; raise it or epsilon.");
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (fits(high)) {
    low = high;
    high *= 2;
    if (high > kMostReleases)
      return Cannot(spec, "the noise is so large that a trillion steps do not spend it.");
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  spec.steps = low;
  return {};
}

Status SolveReleasing(TrialSpec& spec) {
  const bool votes = AsksVotes(spec);
  if (spec.claim == ClaimTarget::paper) return SolvePaper(spec);
  const std::optional<Relation> relation = RelationOf(spec);
  if (!relation) {
    return Cannot(
        spec, votes
                  ? "noisy votes have the claims \"answer\", \"member\" and \"example\"."
                  : OfMembers(spec)
                        ? "an ensemble's answers have the claims \"answer\", \"slot\", \"member\" and \"example\"."
                        : "one teacher answers here; \"member\" needs votes of an ensemble (reading = \"sound\").");
  }
  if (spec.source == QuerySource::private_split)
    return Cannot(spec, std::string(ReasonText(reason::kPrivateSource)));
  if (KindOf(spec) == TrialKind::response_student)
    return spec.calibrate == Calibrate::noise ? SolveResponse(spec, *relation) : SolveResponseSteps(spec, *relation);
  if (spec.calibrate == Calibrate::noise)
    return SolveNoise(spec, *relation, votes ? &TrialSpec::vote_noise : &TrialSpec::sigma);
  return votes ? SolveReleases(spec, *relation, &TrialSpec::queries, "queries")
               : SolveReleases(spec, *relation, &TrialSpec::steps, "steps");
}

Status Solve(TrialSpec& spec) {
  if (spec.claim == ClaimTarget::none) {
    return UsageError("calibrate needs claim: which claim is epsilon = " + ExactNumber(spec.epsilon) +
                      " about?");
  }
  if (!(spec.epsilon > 0) || !std::isfinite(spec.epsilon))
    return UsageError("calibrate needs a finite epsilon above 0.");
  if (!(spec.delta > 0 && spec.delta < 1)) return UsageError("calibrate needs delta between 0 and 1.");
  switch (KindOf(spec)) {
    case TrialKind::plain_teacher:
    case TrialKind::ensemble_teacher:
      return Cannot(spec,
                    "this teacher is trained without noise; train it with DP-SGD, or let an ensemble vote.");
    case TrialKind::loaded_teacher:
      return Cannot(spec, "a loaded teacher is not trained here.");
    case TrialKind::sleeper:
      return Cannot(spec, "a sleeping trial releases nothing.");
    case TrialKind::federated_student:
    case TrialKind::raw_student:
      return Cannot(spec, "this method adds no noise: no claim of it is finite.");
    case TrialKind::merf_student:
    case TrialKind::spectral_student:
      return SolveEmbedding(spec);
    case TrialKind::label_student:
      if (spec.claim != ClaimTarget::label)
        return Cannot(spec, "only labels are protected here: the claim is \"label\".");
      if (!spec.data->sensitive_classes.empty()) return Cannot(spec, std::string(ReasonText(reason::kSplitByLabels)));
      if (spec.calibrate == Calibrate::steps)
        return Cannot(spec, "every label is released once, whatever the steps; use calibrate = \"noise\".");
      return SolveResponse(spec, kLabel);
    case TrialKind::query_student:
      if (AsksVotes(spec) || spec.claim == ClaimTarget::paper) return SolveReleasing(spec);
      return Cannot(spec, spec.reading == Reading::sound
                              ? "this student adds no noise of its own; its claim is its teacher's."
                              : std::string(ReasonText(reason::kLossNoise)));
    case TrialKind::distilled_student:
    case TrialKind::labelled_student:
      return Cannot(spec,
                    "this student adds no noise of its own; its claim is its teacher's, so put epsilon in "
                    "the teacher's private = {...}, or set queries for the votes of an ensemble.");
    case TrialKind::dpsgd_teacher:
    case TrialKind::dpsgd_student:
      return SolveDpSgd(spec);
    case TrialKind::gradient_student:
    case TrialKind::response_student:
    case TrialKind::vote_student:
      return SolveReleasing(spec);
  }
  return {};
}

// Votes' noise in parts of a vote is what can be drawn.
Status CheckVoteNoise(const TrialSpec& spec) {
  if (!AsksVotes(spec)) return {};
  const double drawn = spec.vote_noise * static_cast<double>(spec.grain);
  if (drawn > kMostVoteNoise)
    return Cannot(spec, "vote_noise times grain would be above 1048576, the most that can be drawn: lower grain.");
  if (drawn < kLeastVoteNoise)
    return Cannot(
        spec, "vote_noise times grain would be below 0.015625, the least that can be drawn: lower epsilon.");
  return {};
}

// Numbers so far apart that the arithmetic fails end here, and what was solved for can be run.
Status CheckSolution(const TrialSpec& spec) {
  TrialSpec secure = spec;
  secure.noise = NoiseMode::secure;
  RETORT_ASSIGN_OR_RETURN(const std::vector<PrivacyEvent> events, PlannedEvents(secure));
  for (const PrivacyEvent& event : events) {
    if (spec.claim == ClaimTarget::paper) break;  // the formula does not look at what is drawn
    if (const std::string problem = EventProblem(event); !problem.empty())
      return Cannot(spec, std::string(ReasonText(problem)));
  }
  RETORT_RETURN_IF_ERROR(CheckVoteNoise(spec));
  const std::optional<Relation> relation = RelationOf(spec);
  if (!relation) return {};
  const bool added = IsDpSgd(spec) || ReleasesEmbedding(KindOf(spec));  // solved under add-remove
  RETORT_ASSIGN_OR_RETURN(const std::vector<PrivacyEvent> charged, EventsWithRetries(secure));
  const Bound bound = BoundFor(added ? kExampleAdded : *relation, charged, spec.delta, nullptr);
  if (bound.epsilon <= spec.epsilon) return {};
  const bool bounded = std::isfinite(bound.epsilon);
  return Cannot(spec, bounded ? "no noise that can be drawn reaches it." : std::string(ReasonText(bound.reason)));
}

std::string KeyOf(const TrialSpec& spec) {
  ParameterKey key;
  key.Add(spec.role).Add(spec.method).Add(spec.reading).Add(spec.claim).Add(spec.calibrate).Add(spec.source);
  key.Add(spec.epsilon).Add(spec.delta).Add(spec.batch).Add(spec.steps).Add(spec.queries).Add(spec.sigma);
  key.Add(spec.norm_bound)
      .Add(spec.normalization)
      .Add(spec.noise_multiplier)
      .Add(spec.vote_noise)
      .Add(spec.grain)
      .Add(spec.detach);
  key.Add(spec.branch).Add(spec.trust).Add(spec.epsilon0).Add(spec.discriminator).Add(spec.label_stages);
  key.Add(spec.hint_epochs).Add(spec.distill_epochs).Add(spec.rounds).Add(spec.query_fraction);
  key.Add(spec.random_features).Add(spec.eigenvectors).Add(spec.top_k).Add(spec.noise);
  key.Add(spec.data != nullptr && spec.data->sensitive_classes.empty());
  key.Add(spec.data ? spec.data->PublicExamples() : std::int64_t{0});
  key.Add(spec.retries).Add(spec.reserve_block);
  key.Add(spec.data ? spec.data->classes : std::int64_t{0});
  key.Add(spec.data ? spec.data->PrivateExamples() : std::int64_t{0});
  return key.bytes();
}

}  // namespace

double AimOf(double epsilon) {
  const bool whole = RoundGivenEpsilonUp(epsilon) == epsilon;
  const double thousandth = whole ? epsilon : std::floor(epsilon * 1000) / 1000;
  return thousandth - (1e-9 + 1e-9 * thousandth);
}

Status Calibrator::Calibrate(TrialSpec& spec) {
  if (spec.calibrate == Calibrate::none) return {};
  const auto [entry, fresh] = solutions_.try_emplace(KeyOf(spec));
  Solution& solution = entry->second;
  if (fresh) {
    TrialSpec trial = spec;
    solution.status = Solve(trial);
    if (solution.status.ok()) solution.status = CheckSolution(trial);
    solution.sigma = trial.sigma;
    solution.noise_multiplier = trial.noise_multiplier;
    solution.vote_noise = trial.vote_noise;
    solution.epsilon0 = trial.epsilon0;
    solution.steps = trial.steps;
    solution.queries = trial.queries;
  }
  if (!solution.status.ok()) return solution.status;
  spec.sigma = solution.sigma;
  spec.noise_multiplier = solution.noise_multiplier;
  spec.vote_noise = solution.vote_noise;
  spec.epsilon0 = solution.epsilon0;
  spec.steps = solution.steps;
  spec.queries = solution.queries;
  return {};
}

Status CalibrateTrial(TrialSpec& spec) { return Calibrator().Calibrate(spec); }

}  // namespace retort::privacy
