#include "experiments/privacy/calibration.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/pld_accountant.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/paper_formulas.h"
#include "experiments/privacy/parameter_key.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"

namespace retort::privacy {
namespace {

constexpr std::int64_t kMaxReleases = 1'000'000'000'000;

std::string_view TargetName(ClaimTarget target) {
  switch (target) {
    case ClaimTarget::none:
      return "none";
    case ClaimTarget::paper:
      return "paper";
    case ClaimTarget::answer:
      return "answer";
    case ClaimTarget::slot:
      return "slot";
    case ClaimTarget::teacher:
      return "teacher";
    case ClaimTarget::member:
      return "member";
    case ClaimTarget::example:
      return "example";
    case ClaimTarget::label:
      return "label";
  }
  return "";
}

double RoundUpDigits(double value, int significant) {
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double digits = significant - 1 - std::floor(std::log10(value));
  if (std::abs(digits) > 300) return std::nextafter(value, std::numeric_limits<double>::infinity());
  const double scale = std::pow(10.0, std::abs(digits));
  return digits >= 0 ? std::ceil(value * scale) / scale : std::ceil(value / scale) * scale;
}

// Returns a usage error: epsilon cannot be met, and why.
Status CannotMeet(const TrialSpec& spec, const std::string& why) {
  return UsageError("epsilon = " + FormatExactNumber(spec.privacy.epsilon) + " cannot be met for claim \"" +
                    std::string(TargetName(spec.privacy.claim)) + "\": " + why);
}

// Rounds up to six significant digits, where a search gives no more.
double RoundUpToSixDigits(double value) { return RoundUpDigits(value, 6); }

// Whether an ensemble is asked.
bool AsksMembers(const TrialSpec& spec) { return IsTaughtByVotes(spec) || AsksEnsemble(spec); }

// Returns the relation that the claim is about, where the trial has such a claim.
std::optional<Relation> FindRelation(const TrialSpec& spec) {
  const bool votes = IsTaughtByVotes(spec), members = AsksMembers(spec);
  const bool labels = Releases(FindKind(spec), ReleaseKind::labels);
  if (labels != (spec.privacy.claim == ClaimTarget::label)) return std::nullopt;
  switch (spec.privacy.claim) {
    case ClaimTarget::answer:
      return kAnswer;
    case ClaimTarget::slot:
      return votes ? std::nullopt : std::optional(kSlot);
    case ClaimTarget::teacher:
      return members ? std::nullopt : std::optional(kTeacher);
    case ClaimTarget::member:
      return members ? std::optional(kMember) : std::nullopt;
    case ClaimTarget::example:
      return kExample;
    case ClaimTarget::label:
      return kLabel;
    case ClaimTarget::none:
    case ClaimTarget::paper:
      break;
  }
  return std::nullopt;
}

// mu under the relation when the trial runs as it stands, and loses as many attempts as it has room for; 0 where
// nothing Gaussian is drawn. Error: what makes the claim unbounded.
Result<double> PlannedMu(const TrialSpec& spec, const Relation& relation) {
  TrialSpec secure = spec;
  secure.noise = NoiseMode::secure;
  RETORT_ASSIGN_OR_RETURN(const std::vector<PrivacyEvent> events, PlanEventsWithRetries(secure));
  const Composition sum = ComposeEvents(relation, events);
  if (!sum.unbounded.empty()) return CannotMeet(spec, std::string(DescribeReason(sum.unbounded)));
  return ComputeComposedMu(sum.gaussian);
}

// The bound under the relation, whatever it is composed of; infinity where there is none.
double PlannedEpsilon(const TrialSpec& spec, const Relation& relation) {
  TrialSpec secure = spec;
  secure.noise = NoiseMode::secure;
  const Result<std::vector<PrivacyEvent>> events = PlanEventsWithRetries(secure);
  if (!events.ok()) return std::numeric_limits<double>::infinity();
  return ComputeRelationBound(relation, *events, spec.privacy.delta, nullptr).epsilon;
}

bool Meets(const TrialSpec& spec, const Relation& relation) {
  return PlannedEpsilon(spec, relation) <= spec.privacy.epsilon;
}

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

// Responses, of teachers or of labels: epsilon0 at the given releases.
Status SolveResponse(TrialSpec& spec, const Relation& relation) {
  TrialSpec one = spec;
  const auto meets = [&](double epsilon0) {
    one.release.epsilon0 = epsilon0;
    return PlannedEpsilon(one, relation) <= spec.privacy.epsilon;
  };
  one.release.epsilon0 = 1;
  RETORT_ASSIGN_OR_RETURN([[maybe_unused]] const double mu, PlannedMu(one, relation));  // why there is no bound
  spec.release.epsilon0 = LargestMeeting(std::min(spec.privacy.epsilon, 1000.0) * 1.0, meets);
  if (!(spec.release.epsilon0 > 0)) return CannotMeet(spec, "no epsilon0 of a response, however small, reaches it.");
  return {};
}

// Responses: steps at the given epsilon0.
Status SolveResponseSteps(TrialSpec& spec, const Relation& relation) {
  if (!(spec.release.epsilon0 > 0)) return CannotMeet(spec, "calibrate = \"steps\" needs epsilon0 above 0.");
  if (relation.adjacency == Adjacency::answer)
    return CannotMeet(spec, "that claim is about one answer and does not depend on steps; use calibrate = \"noise\".");
  TrialSpec one = spec;
  const auto fits = [&](std::int64_t steps) {
    one.steps = steps;
    return PlannedEpsilon(one, relation) <= spec.privacy.epsilon;
  };
  one.steps = 1;
  RETORT_ASSIGN_OR_RETURN([[maybe_unused]] const double mu, PlannedMu(one, relation));
  if (!fits(1)) return CannotMeet(spec, "one step alone costs more at this epsilon0; lower it, or raise epsilon.");
  std::int64_t low = 1, high = 2;
  while (fits(high)) {
    low = high;
    high *= 2;
    if (high > kMaxReleases / std::max<std::int64_t>(spec.batch, 1))
      return CannotMeet(spec, "epsilon0 is so small that a trillion answers do not spend it.");
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  spec.steps = low;
  return {};
}

// dp-merf and dp-spectral: the noise of their one release.
Status SolveEmbedding(TrialSpec& spec) {
  if (spec.privacy.claim != ClaimTarget::example)
    return CannotMeet(spec, spec.method + " has the claim \"example\" only.");
  if (spec.privacy.calibrate == Calibrate::steps)
    return CannotMeet(spec, spec.method + " releases once, whatever its steps; use calibrate = \"noise\".");
  TrialSpec one = spec;
  const auto meets = [&](double inverse) {
    one.release.noise_multiplier = 1 / inverse;
    return Meets(one, kExampleAdded);
  };
  const double inverse = LargestMeeting(1e6, meets);
  if (!(inverse > 0)) return CannotMeet(spec, "no noise multiplier up to a million reaches it.");
  spec.release.noise_multiplier = RoundUpToNineDigits(1 / inverse);
  return {};
}

// Gradient and vote students: mu is inverse in the noise and grows with the root of the releases.
Status SolveNoise(TrialSpec& spec, const Relation& relation, double ReleaseValues::*noise) {
  TrialSpec unit = spec;
  unit.release.*noise = 1;
  RETORT_ASSIGN_OR_RETURN(const double mu, PlannedMu(unit, relation));
  const double target = ComputeGaussianMu(ComputeTargetEpsilon(spec.privacy.epsilon), spec.privacy.delta);
  if (!(target > 0)) return CannotMeet(spec, "no amount of noise reaches an epsilon this small.");
  spec.release.*noise = RoundUpToNineDigits(mu / target);
  for (int round = 0; round < 100 && !Meets(spec, relation); ++round)
    spec.release.*noise = RoundUpToNineDigits(spec.release.*noise * (1 + 1e-8));
  return {};
}

// Votes behind a threshold, whose own noise is given: the answers' noise, out of what the thresholds leave.
Status SolveAnswerNoise(TrialSpec& spec, const Relation& relation) {
  TrialSpec one = spec;
  one.release.vote_noise = kMaxVoteNoise;
  RETORT_ASSIGN_OR_RETURN([[maybe_unused]] const double mu, PlannedMu(one, relation));  // why there is no bound
  const auto meets = [&](double noise) {
    one.release.vote_noise = noise;
    return Meets(one, relation);
  };
  if (!meets(kMaxVoteNoise))
    return CannotMeet(spec, "the thresholds alone cost more at this threshold_noise; raise it, or lower queries.");
  double low = kMinVoteNoise, high = kMaxVoteNoise;  // meets at high, and, it is taken, not at low
  while (high > low * (1 + 1e-9)) {
    const double middle = std::sqrt(low * high);
    (meets(middle) ? high : low) = middle;
  }
  spec.release.vote_noise = std::min(RoundUpToNineDigits(high), kMaxVoteNoise);
  return {};
}

// The same: queries at the given noise. From some number on they cost their threshold alone.
Status SolveThresholdQueries(TrialSpec& spec, const Relation& relation) {
  if (relation.adjacency == Adjacency::answer)
    return CannotMeet(spec,
                      "that claim is about one answer and does not depend on queries; use calibrate = \"noise\".");
  TrialSpec one = spec;
  one.queries = 1;
  RETORT_ASSIGN_OR_RETURN([[maybe_unused]] const double mu, PlannedMu(one, relation));
  const auto fits = [&](std::int64_t queries) {
    one.queries = queries;
    return Meets(one, relation);
  };
  if (!fits(1)) return CannotMeet(spec, "one query alone costs more at this noise; raise the noise or epsilon.");
  std::int64_t low = 1, high = 2;
  while (fits(high)) {
    low = high;
    high *= 2;
    if (high > kMaxReleases)
      return CannotMeet(spec,
                        "the noise is so large that " + std::to_string(kMaxReleases) + " queries do not spend it.");
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  spec.queries = low;
  return {};
}

Status SolveReleases(TrialSpec& spec, const Relation& relation, std::int64_t TrialSpec::*count, const char* key) {
  if (relation.adjacency == Adjacency::answer) {
    return CannotMeet(spec, "that claim is about one answer and does not depend on " + std::string(key) +
                                "; use calibrate = \"noise\".");
  }
  TrialSpec one = spec;
  one.*count = 1;
  one.execution.retries = 0;
  RETORT_ASSIGN_OR_RETURN(const double mu, PlannedMu(one, relation));
  const double target = ComputeGaussianMu(spec.privacy.epsilon, spec.privacy.delta);
  const double ratio = target / mu;
  if (!(ratio * ratio < static_cast<double>(kMaxReleases))) {
    return CannotMeet(spec,
                      "the noise is so large that " + std::to_string(kMaxReleases) + " " + key + " do not spend it.");
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
  return CannotMeet(spec,
                    "one of the " + std::string(key) + " alone costs more at this noise; raise the noise or epsilon.");
}

// The paper's epsilon is that of one label, without composition.
Status SolvePaperLabel(TrialSpec& spec) {
  if (spec.privacy.calibrate == Calibrate::steps)
    return CannotMeet(spec,
                      "the paper composes nothing: its epsilon does not depend on steps; use calibrate = \"noise\".");
  spec.release.epsilon0 = spec.privacy.epsilon;
  return {};
}

// The paper's epsilon is inverse in sigma.
Status SolvePaperQueries(TrialSpec& spec) {
  if (spec.privacy.calibrate == Calibrate::steps)
    return CannotMeet(spec, "rona's epochs are keys of their own; use calibrate = \"noise\".");
  TrialSpec unit = spec;
  unit.release.sigma = 1;
  const double epsilon = EvaluatePaperFormula(unit).epsilon;
  if (!std::isfinite(epsilon) || !(epsilon > 0)) return CannotMeet(spec, "the paper's formula is undefined here.");
  spec.release.sigma = RoundUpToNineDigits(epsilon / ComputeTargetEpsilon(spec.privacy.epsilon));
  return {};
}

Status SolvePaper(TrialSpec& spec) {
  if (!spec.data) return CannotMeet(spec, "the trial has no data set.");
  const TrialKind kind = FindKind(spec);
  if (Releases(kind, ReleaseKind::responses)) return SolvePaperLabel(spec);
  if (Releases(kind, ReleaseKind::losses)) return SolvePaperQueries(spec);
  if (!Releases(kind, ReleaseKind::gradients)) {
    return CannotMeet(spec, "the paper's formula is about noisy gradients, which this trial does not release.");
  }
  GradientFormula formula;
  formula.norm_bound = spec.release.norm_bound;
  formula.sigma = spec.release.sigma;
  formula.classes = static_cast<double>(spec.data->classes);
  formula.rows = static_cast<double>(spec.batch) * static_cast<double>(spec.steps);
  formula.delta = spec.privacy.delta;
  if (spec.privacy.calibrate == Calibrate::noise) {
    RETORT_ASSIGN_OR_RETURN(const double sigma,
                            ComputeGradientFormulaSigma(formula, ComputeTargetEpsilon(spec.privacy.epsilon)));
    spec.release.sigma = RoundUpToNineDigits(sigma);
    return {};
  }
  RETORT_ASSIGN_OR_RETURN(const double rows,
                          ComputeGradientFormulaRows(formula, ComputeTargetEpsilon(spec.privacy.epsilon)));
  const double steps = std::floor(rows / static_cast<double>(spec.batch));
  if (steps < 1) return CannotMeet(spec, "one step alone costs more by the formula; raise sigma or epsilon.");
  if (steps > static_cast<double>(kMaxReleases))
    return CannotMeet(spec, "the formula allows more steps than can be run.");
  spec.steps = static_cast<std::int64_t>(steps);
  return {};
}

// Every step takes all examples: solved exactly, as for gradients of outputs.
Status SolveDpGd(TrialSpec& spec) {
  if (spec.privacy.calibrate == Calibrate::noise)
    return SolveNoise(spec, kExampleAdded, &ReleaseValues::noise_multiplier);
  if (!(spec.release.noise_multiplier > 0))
    return CannotMeet(spec, "calibrate = \"steps\" needs noise_multiplier above 0.");
  return SolveReleases(spec, kExampleAdded, &TrialSpec::steps, "steps");
}

// The search itself, before rounding: it knows no norm bound.
double SearchSubsampledNoise(double rate, std::int64_t steps, double delta, double aim, NoiseSearches& known) {
  const auto [entry, fresh] = known.try_emplace({rate, steps, delta, aim}, 0.0);
  if (fresh)
    entry->second = steps > kMaxPldSteps ? ComputeSubsampledGaussianNoise(rate, static_cast<double>(steps), delta, aim)
                                         : ComputeSubsampledGaussianPldNoise(rate, steps, delta, aim);
  return entry->second;
}

Status SolveDpSgd(TrialSpec& spec, NoiseSearches& known) {
  if (spec.privacy.claim != ClaimTarget::example)
    return CannotMeet(spec, "DP-SGD training has the claim \"example\" only.");
  TrialSpec unit = spec;
  if (spec.privacy.calibrate == Calibrate::noise) unit.release.noise_multiplier = 1;
  RETORT_ASSIGN_OR_RETURN(const std::vector<PrivacyEvent> events, PlanEvents(unit));
  const double rate = events.front().sampling_rate;
  if (rate == 1) return SolveDpGd(spec);
  const auto charged = [&spec](std::int64_t steps) {
    return steps + spec.execution.retries * std::min(steps, spec.execution.reserve_block);
  };
  const auto meets = [&](double z, std::int64_t steps) {
    TrialSpec one = spec;
    one.release.noise_multiplier = z;
    one.steps = steps;
    return PlannedEpsilon(one, kExampleAdded) <= spec.privacy.epsilon;
  };
  if (spec.privacy.calibrate == Calibrate::noise) {
    const double noise = SearchSubsampledNoise(rate, charged(spec.steps), spec.privacy.delta,
                                               ComputeTargetEpsilon(spec.privacy.epsilon), known);
    if (!std::isfinite(noise)) return CannotMeet(spec, "no noise multiplier up to a million reaches it.");
    // Neither search is smooth to its last digits, so the rounded value is tried.
    spec.release.noise_multiplier = RoundUpToSixDigits(noise);
    for (int round = 0; round < 100 && !meets(spec.release.noise_multiplier, spec.steps); ++round)
      spec.release.noise_multiplier = RoundUpToSixDigits(spec.release.noise_multiplier * (1 + 1e-6));
    if (!meets(spec.release.noise_multiplier, spec.steps))
      return CannotMeet(spec, "the search for its noise did not end.");
    return {};
  }
  if (!(spec.release.noise_multiplier > 0))
    return CannotMeet(spec, "calibrate = \"steps\" needs noise_multiplier above 0.");
  const auto fits = [&](std::int64_t steps) { return meets(spec.release.noise_multiplier, steps); };
  if (!fits(1)) return CannotMeet(spec, "one step alone costs more at this noise_multiplier; raise it or epsilon.");
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (fits(high)) {
    low = high;
    high *= 2;
    if (high > kMaxReleases) return CannotMeet(spec, "the noise is so large that a trillion steps do not spend it.");
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  spec.steps = low;
  return {};
}

Status SolveReleasing(TrialSpec& spec) {
  const bool votes = IsTaughtByVotes(spec);
  if (spec.privacy.claim == ClaimTarget::paper) return SolvePaper(spec);
  const std::optional<Relation> relation = FindRelation(spec);
  if (!relation) {
    return CannotMeet(spec,
                      votes ? "noisy votes have the claims \"answer\", \"member\" and \"example\"."
                      : AsksMembers(spec)
                          ? "an ensemble's answers have the claims \"answer\", \"slot\", \"member\" and \"example\"."
                          : "one teacher answers here; \"member\" needs votes of an ensemble (reading = \"sound\").");
  }
  if (spec.source == QuerySource::private_split)
    return CannotMeet(spec, std::string(DescribeReason(reason::kPrivateSource)));
  if (Releases(FindKind(spec), ReleaseKind::responses))
    return spec.privacy.calibrate == Calibrate::noise ? SolveResponse(spec, *relation)
                                                      : SolveResponseSteps(spec, *relation);
  if (votes && spec.release.vote_cost > 0)
    return CannotMeet(spec, "vote_cost fixes what the answers may cost: set vote_noise and queries by hand.");
  if (votes && spec.release.threshold_noise > 0)
    return spec.privacy.calibrate == Calibrate::noise ? SolveAnswerNoise(spec, *relation)
                                                      : SolveThresholdQueries(spec, *relation);
  if (spec.privacy.calibrate == Calibrate::noise)
    return SolveNoise(spec, *relation, votes ? &ReleaseValues::vote_noise : &ReleaseValues::sigma);
  return votes ? SolveReleases(spec, *relation, &TrialSpec::queries, "queries")
               : SolveReleases(spec, *relation, &TrialSpec::steps, "steps");
}

Status Solve(TrialSpec& spec, NoiseSearches& known) {
  if (spec.privacy.claim == ClaimTarget::none) {
    return UsageError("calibrate needs claim: which claim is epsilon = " + FormatExactNumber(spec.privacy.epsilon) +
                      " about?");
  }
  if (!(spec.privacy.epsilon > 0) || !std::isfinite(spec.privacy.epsilon))
    return UsageError("calibrate needs a finite epsilon above 0.");
  if (!(spec.privacy.delta > 0 && spec.privacy.delta < 1)) return UsageError("calibrate needs delta between 0 and 1.");
  const KindTraits& traits = FindTraits(FindKind(spec));
  if (!traits.unsolvable.empty()) return CannotMeet(spec, std::string(traits.unsolvable));
  switch (traits.release) {
    case ReleaseKind::embedding:
      return SolveEmbedding(spec);
    case ReleaseKind::labels:
      if (spec.privacy.claim != ClaimTarget::label)
        return CannotMeet(spec, "only labels are protected here: the claim is \"label\".");
      if (!spec.data->sensitive_classes.empty())
        return CannotMeet(spec, std::string(DescribeReason(reason::kSplitByLabels)));
      if (spec.privacy.calibrate == Calibrate::steps)
        return CannotMeet(spec, "every label is released once, whatever the steps; use calibrate = \"noise\".");
      return SolveResponse(spec, kLabel);
    case ReleaseKind::losses:
      if (IsTaughtByVotes(spec) || spec.privacy.claim == ClaimTarget::paper) return SolveReleasing(spec);
      return CannotMeet(spec, spec.reading == Reading::sound
                                  ? "this student adds no noise of its own; its claim is its teacher's."
                                  : std::string(DescribeReason(reason::kLossNoise)));
    case ReleaseKind::steps:
      return SolveDpSgd(spec, known);
    case ReleaseKind::gradients:
    case ReleaseKind::responses:
    case ReleaseKind::votes:
      return SolveReleasing(spec);
    case ReleaseKind::none:
    case ReleaseKind::raw_answers:
      break;
  }
  return {};
}

// The sampler draws noise in parts of a vote, within its range.
Status CheckVoteNoise(const TrialSpec& spec) {
  if (!IsTaughtByVotes(spec)) return {};
  const double drawn = spec.release.vote_noise * static_cast<double>(spec.release.grain);
  if (drawn > kMaxVoteNoise)
    return CannotMeet(spec, "vote_noise times grain would be above 1048576, the most that can be drawn: lower grain.");
  if (drawn < kMinVoteNoise)
    return CannotMeet(spec,
                      "vote_noise times grain would be below 0.015625, the least that can be drawn: lower epsilon.");
  return {};
}

// Refuses numbers so far apart that the arithmetic fails, so that every solution can be run.
Status CheckSolution(const TrialSpec& spec) {
  TrialSpec secure = spec;
  secure.noise = NoiseMode::secure;
  RETORT_ASSIGN_OR_RETURN(const std::vector<PrivacyEvent> events, PlanEvents(secure));
  for (const PrivacyEvent& event : events) {
    if (spec.privacy.claim == ClaimTarget::paper) break;  // the formula does not look at what is drawn
    if (const std::string problem = FindEventProblem(event); !problem.empty())
      return CannotMeet(spec, std::string(DescribeReason(problem)));
  }
  RETORT_RETURN_IF_ERROR(CheckVoteNoise(spec));
  const std::optional<Relation> relation = FindRelation(spec);
  if (!relation) return {};
  const bool added = TrainsByDpSgd(FindKind(spec)) || ReleasesEmbedding(FindKind(spec));  // solved under add-remove
  RETORT_ASSIGN_OR_RETURN(const std::vector<PrivacyEvent> charged, PlanEventsWithRetries(secure));
  const Bound bound = ComputeRelationBound(added ? kExampleAdded : *relation, charged, spec.privacy.delta, nullptr);
  if (bound.epsilon <= spec.privacy.epsilon) return {};
  const bool bounded = std::isfinite(bound.epsilon);
  return CannotMeet(spec,
                    bounded ? "no noise that can be drawn reaches it." : std::string(DescribeReason(bound.reason)));
}

}  // namespace

std::string MakeCalibrationKey(const TrialSpec& spec) {
  ParameterKey key;
  key.Add(spec.role)
      .Add(spec.method)
      .Add(spec.reading)
      .Add(spec.privacy.claim)
      .Add(spec.privacy.calibrate)
      .Add(spec.source);
  key.Add(spec.privacy.epsilon)
      .Add(spec.privacy.delta)
      .Add(spec.batch)
      .Add(spec.steps)
      .Add(spec.queries)
      .Add(spec.release.sigma);
  key.Add(spec.release.norm_bound)
      .Add(spec.release.normalization)
      .Add(spec.release.noise_multiplier)
      .Add(spec.release.vote_noise)
      .Add(spec.release.grain)
      .Add(spec.release.threshold_noise)
      .Add(spec.release.answers)
      .Add(spec.release.detach);
  key.Add(spec.release.branch)
      .Add(spec.release.trust)
      .Add(spec.release.epsilon0)
      .Add(spec.release.response_over)
      .Add(spec.release.threshold)
      .Add(spec.generator.discriminator)
      .Add(spec.staged.stages);
  key.Add(spec.rona.hint_epochs).Add(spec.rona.distill_epochs).Add(spec.rounds).Add(spec.rona.query_fraction);
  key.Add(spec.merf.random_features).Add(spec.labels.eigenvectors).Add(spec.release.top_k).Add(spec.noise);
  key.Add(spec.data != nullptr && spec.data->sensitive_classes.empty());
  key.Add(spec.data ? spec.data->PublicExamples() : std::int64_t{0});
  key.Add(spec.execution.retries).Add(spec.execution.reserve_block);
  key.Add(spec.data ? spec.data->classes : std::int64_t{0});
  key.Add(spec.data ? spec.data->PrivateExamples() : std::int64_t{0});
  return key.bytes();
}

double RoundUpToNineDigits(double value) { return RoundUpDigits(value, 9); }

double ComputeTargetEpsilon(double epsilon) {
  const bool whole = RoundGivenEpsilonUp(epsilon) == epsilon;
  const double thousandth = whole ? epsilon : std::floor(epsilon * 1000) / 1000;
  return thousandth - (1e-9 + 1e-9 * thousandth);
}

Status Calibrator::Calibrate(TrialSpec& spec) {
  if (spec.privacy.calibrate == Calibrate::none) return {};
  const auto [entry, fresh] = solutions_.try_emplace(MakeCalibrationKey(spec));
  Solution& solution = entry->second;
  if (fresh) {
    TrialSpec trial = spec;
    solution.status = Solve(trial, searches_);
    if (solution.status.ok()) solution.status = CheckSolution(trial);
    solution.sigma = trial.release.sigma;
    solution.noise_multiplier = trial.release.noise_multiplier;
    solution.vote_noise = trial.release.vote_noise;
    solution.epsilon0 = trial.release.epsilon0;
    solution.steps = trial.steps;
    solution.queries = trial.queries;
  }
  if (!solution.status.ok()) return solution.status;
  spec.release.sigma = solution.sigma;
  spec.release.noise_multiplier = solution.noise_multiplier;
  spec.release.vote_noise = solution.vote_noise;
  spec.release.epsilon0 = solution.epsilon0;
  spec.steps = solution.steps;
  spec.queries = solution.queries;
  return {};
}

Status CalibrateTrial(TrialSpec& spec) { return Calibrator().Calibrate(spec); }

}  // namespace retort::privacy
