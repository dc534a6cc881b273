#include "worker/audit/release_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/attack_bounds.h"
#include "worker/release/answers.h"
#include "worker/release/randomized_response.h"

namespace retort::worker::audit {

namespace {

// Mechanisms that remember their answers are replaced after so many releases.
constexpr std::int64_t kReleasesOfOne = 64;

// Rows that were never asked before: exact in f32 for kReleasesOfOne releases of at most 2^17 rows.
at::Tensor FreshInputs(std::int64_t rows, std::int64_t release) {
  return at::arange(rows, at::kFloat).add(static_cast<double>(release * rows)).reshape({rows, 1, 1, 1});
}

Result<at::Tensor> ReleaseOnce(release::Mechanism& mechanism, release::TeacherModel& teacher, const NeighbourPair& pair,
                               release::ChargeBook& book, std::int64_t step) {
  const release::Answers answers =
      release::Oracle::Ask(teacher, {FreshInputs(pair.rows, step), pair.student, step, pair.grain, {}, pair.gradients});
  RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                          book.Take(mechanism.Describe(pair.rows), mechanism.DrawsFor(answers)));
  RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism.Release(answers, std::move(charge)));
  return released.values;
}

// `samples` scores under a teacher whose answer is `said`.
Result<std::vector<double>> ComputeScores(const MechanismMaker& make, const NeighbourPair& pair, const at::Tensor& said,
                                          std::int64_t samples) {
  release::ScriptedTeacher teacher(said);
  std::vector<double> scores;
  scores.reserve(static_cast<std::size_t>(samples));
  while (static_cast<std::int64_t>(scores.size()) < samples) {
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<release::Mechanism> mechanism, make());
    UnchargedPort port;
    release::ChargeBook book(&port, 1, privacy::kMaxDraws);
    for (std::int64_t step = 0; step < kReleasesOfOne && static_cast<std::int64_t>(scores.size()) < samples; ++step) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor values, ReleaseOnce(*mechanism, teacher, pair, book, step));
      at::Tensor seen = values.to(at::kDouble);
      if (pair.base.defined()) seen = seen - pair.base;
      const at::Tensor sums = (seen * pair.direction).reshape({pair.rows / pair.group, -1}).sum(1).contiguous();
      const auto* score = sums.const_data_ptr<double>();
      scores.insert(scores.end(), score, score + sums.numel());
    }
  }
  scores.resize(static_cast<std::size_t>(samples));
  return scores;
}

// The mu of one sample by the event that the mechanism describes.
Result<double> ComputeProvenMu(const release::Mechanism& mechanism, const NeighbourPair& pair) {
  const privacy::Composition sum = privacy::ComposeEvents(pair.relation, {mechanism.Describe(pair.group)});
  if (!sum.unbounded.empty()) return Refused("Nothing is proven of this release: " + sum.unbounded + ".");
  if (!sum.subsampled.empty() || !sum.responses.empty() || sum.gaussian.empty())
    return Refused("This release is not Gaussian.");
  return privacy::ComputeComposedMu(sum.gaussian);
}

std::int64_t Positive(const std::vector<double>& scores) {
  return std::count_if(scores.begin(), scores.end(), [](double score) { return score > 0; });
}

// The lower bound from two sets of scores, in either direction where a score is not a number: NaN is an outcome like
// any other.
double EpsilonLower(const StepScores& scores, double delta, double confidence) {
  const auto numbers = [](std::vector<double> of) {
    for (double& score : of) score = std::isnan(score) ? 0 : score;
    return of;
  };
  const auto undefined = [](std::vector<double> of) {
    for (double& score : of) score = std::isnan(score) ? 1 : 0;
    return of;
  };
  const auto test = [&](const std::vector<double>& in, const std::vector<double>& out) {
    return privacy::ScoreEpsilonLower(in, out, delta, confidence);
  };
  const auto defined = [](double score) { return !std::isnan(score); };
  if (std::all_of(scores.one.begin(), scores.one.end(), defined) &&
      std::all_of(scores.other.begin(), scores.other.end(), defined))
    return test(scores.one, scores.other);
  const std::vector<double> one = undefined(scores.one), other = undefined(scores.other);
  return std::max({test(numbers(scores.one), numbers(scores.other)), test(one, other), test(other, one)});
}

}  // namespace

privacy::AuditFinding MakeStepFinding(const StepScores& scores, const std::string& name,
                                      const privacy::Relation& relation, double mu_proven,
                                      const StepAuditSettings& settings) {
  const auto samples = static_cast<std::int64_t>(scores.one.size());
  const privacy::AttackCounts counts{samples, Positive(scores.one), Positive(scores.other)};
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::release_step;
  finding.subject = name + " at mu " + FormatSixDigits(mu_proven) + ", " + std::to_string(samples) + " samples a side";
  finding.confidence = settings.confidence;
  finding.mu_proven = mu_proven;
  finding.mu_lower = privacy::AttackMuLower(counts, privacy::kAlarmConfidence);
  finding.proven = privacy::RoundEpsilonUp(privacy::ComputeGaussianEpsilon(settings.delta, mu_proven));
  finding.alarm_lower = EpsilonLower(scores, settings.delta, privacy::kAlarmConfidence);
  const std::int64_t judged = samples - samples / 2;
  finding.ceiling = privacy::AttackEpsilonLower({judged, judged, 0}, settings.delta, settings.confidence);
  privacy::Claim claim;
  claim.adjacency = relation.adjacency;
  claim.neighbour = relation.neighbour;
  claim.delta = settings.delta;
  claim.lower = EpsilonLower(scores, settings.delta, settings.confidence);
  claim.status = privacy::ClaimStatus::audited;
  claim.units = "one sample of the release step, its noise scaled to mu " + FormatSixDigits(mu_proven);
  claim.accountant = "audit:release-step";
  finding.claim = std::move(claim);
  finding.figures = {
      {"power", *finding.mu_lower / mu_proven},
      {"true_positive_rate", static_cast<double>(counts.true_positives) / static_cast<double>(samples)},
      {"false_positive_rate", static_cast<double>(counts.false_positives) / static_cast<double>(samples)}};
  return finding;
}

double ComputePower(const privacy::AuditFinding& finding) {
  return finding.mu_proven.value_or(0) > 0 ? finding.mu_lower.value_or(0) / *finding.mu_proven : 0;
}

Result<privacy::AuditFinding> AuditReleaseStep(const MechanismMaker& make, const NeighbourPair& pair,
                                               const StepAuditSettings& settings) {
  RETORT_CHECK(pair.rows > 0 && pair.group > 0 && pair.rows % pair.group == 0 && settings.samples >= 2);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<release::Mechanism> mechanism, make());
  RETORT_ASSIGN_OR_RETURN(const double mu, ComputeProvenMu(*mechanism, pair));
  StepScores scores;
  RETORT_ASSIGN_OR_RETURN(scores.one, ComputeScores(make, pair, pair.one, settings.samples));
  RETORT_ASSIGN_OR_RETURN(scores.other, ComputeScores(make, pair, pair.other, settings.samples));
  return MakeStepFinding(scores, pair.name, pair.relation, mu, settings);
}

namespace {

constexpr std::int64_t kCoordinates = 8;

// Audits a mechanism to whose sum one example is added, or not. `make()` is a Result of a new mechanism with a fresh
// key at each call, all of the same settings. `sum_of(mechanism, present)` is a sum of the mechanism with one example
// in it, whose first coordinate is `length` after clipping and whose others are 0, or an empty one. `name` is what the
// finding calls the release. Error: those of the mechanism; refused, when nothing is proven of its event (a seeded
// source).
template <typename Maker, typename SumMaker>
Result<privacy::AuditFinding> AuditAddedExample(const Maker& make, const SumMaker& sum_of, double length,
                                                const std::string& name, const StepAuditSettings& settings) {
  const auto scores_of = [&](bool present) -> Result<std::vector<double>> {
    RETORT_ASSIGN_OR_RETURN(auto mechanism, make());
    UnchargedPort port;
    release::ChargeBook book(&port, settings.samples, settings.samples);
    std::vector<double> scores;
    scores.reserve(static_cast<std::size_t>(settings.samples));
    for (std::int64_t i = 0; i < settings.samples; ++i) {
      RETORT_ASSIGN_OR_RETURN(release::Charge charge, book.Take(mechanism.Describe(1), 1));
      RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                              mechanism.Release(sum_of(mechanism, present), i, std::move(charge)));
      scores.push_back(static_cast<double>(released.const_data_ptr<float>()[0]) - length / 2);
    }
    return scores;
  };
  RETORT_ASSIGN_OR_RETURN(const auto mechanism, make());
  const privacy::PrivacyEvent event = mechanism.Describe(1);
  const std::string problem = privacy::FindEventProblem(event);
  if (!problem.empty()) return Refused("Nothing is proven of " + name + ": " + problem + ".");
  StepScores scores;
  RETORT_ASSIGN_OR_RETURN(scores.one, scores_of(true));
  RETORT_ASSIGN_OR_RETURN(scores.other, scores_of(false));
  return MakeStepFinding(scores, name, privacy::kExampleAdded, event.sensitivity / event.noise_std, settings);
}

}  // namespace

Result<privacy::AuditFinding> AuditDpSgdStep(const StepMaker& make, double norm_bound,
                                             const StepAuditSettings& settings) {
  at::Tensor example = at::zeros({1, kCoordinates});
  example[0][0] = 100 * norm_bound;  // clipped to norm_bound
  const auto sum_of = [&](const release::DpSgdStep& mechanism, bool present) {
    release::ClippedSum sum = mechanism.NewSum();
    if (present) sum.Add(example);
    return sum;
  };
  return AuditAddedExample(make, sum_of, norm_bound, "a DP-SGD step", settings);
}

StepMaker MakeScaledDpSgdStep(const TrialSpec& spec, double mu) {
  release::DpSgdSettings settings;
  settings.norm_bound = spec.release.norm_bound;
  settings.noise_multiplier = 1 / mu;
  settings.sampling_rate = 1;
  settings.batch = spec.batch;
  settings.coordinates = kCoordinates;
  return [settings] { return release::DpSgdStep::Create(settings, noise::NoiseKey::FromOperatingSystem()); };
}

namespace {

constexpr std::int64_t kClasses = 2, kFeatures = 4;

}  // namespace

Result<privacy::AuditFinding> AuditEmbeddingStep(const EmbeddingMaker& make, const release::EmbeddingSettings& settings,
                                                 const StepAuditSettings& audit) {
  at::Tensor features = at::zeros({1, settings.features});
  features[0][0] = 100;  // shortened to 1
  const at::Tensor label = at::zeros({1}, at::kLong);
  const auto sum_of = [&](const release::ClassEmbedding& mechanism, bool present) {
    release::EmbeddingSum sum = mechanism.NewSum();
    if (present) sum.Add(features, label);
    return sum;
  };
  return AuditAddedExample(make, sum_of, 1, "the embedding of the examples", audit);
}

release::EmbeddingSettings MakeScaledEmbedding(double mu) {
  return {.noise_multiplier = 1 / mu, .classes = kClasses, .features = kFeatures};
}

namespace {

constexpr std::int64_t kAuditedRows = 256;

using release::RandomizedResponse;

release::ResponseSettings SeenSettings(const TrialSpec& spec, std::int64_t classes) {
  release::ResponseSettings settings = release::MakeResponseSettings(spec, classes, 1);
  settings.epsilon0 = std::min(settings.epsilon0, kMaxAuditedEpsilon);
  settings.batch = kAuditedRows;
  return settings;
}

// The lowest classes, as many as the trial's rows have, or two.
at::Tensor Candidates(const release::ResponseSettings& settings) {
  at::Tensor candidates = at::zeros({kAuditedRows, settings.classes}, at::kBool);
  candidates.slice(1, 0, std::max<std::int64_t>(settings.candidates, 2)).fill_(true);
  return candidates;
}

// `samples` answers of a teacher that is sure of `label`, 0 or 1: answers of class 0 less those of class 1.
Result<std::vector<double>> ComputeScores(const release::ResponseSettings& settings, std::int64_t label,
                                          std::int64_t samples) {
  at::Tensor said = at::zeros({kAuditedRows, settings.classes});
  said.select(1, label).fill_(30);
  release::ScriptedTeacher teacher(said);
  const at::Tensor candidates = Candidates(settings);
  std::vector<double> scores;
  while (static_cast<std::int64_t>(scores.size()) < samples) {
    RETORT_ASSIGN_OR_RETURN(const auto mechanism,
                            RandomizedResponse::Create(settings, noise::NoiseKey::FromOperatingSystem()));
    UnchargedPort port;
    release::ChargeBook book(&port, 1, privacy::kMaxDraws);
    for (std::int64_t step = 0; step < kReleasesOfOne && static_cast<std::int64_t>(scores.size()) < samples; ++step) {
      const at::Tensor inputs = at::arange(kAuditedRows, at::kFloat)
                                    .add(static_cast<double>(step * kAuditedRows))
                                    .reshape({kAuditedRows, 1, 1, 1});
      const release::Answers answers = release::Oracle::Ask(teacher, {inputs, {}, step, 1, candidates});
      RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                              book.Take(mechanism->Describe(kAuditedRows), mechanism->DrawsFor(answers)));
      RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism->Release(answers, std::move(charge)));
      const at::Tensor values = released.values.to(at::kDouble);
      const at::Tensor score = (values.select(1, 0) - values.select(1, 1)).contiguous();
      scores.insert(scores.end(), score.const_data_ptr<double>(), score.const_data_ptr<double>() + kAuditedRows);
    }
  }
  scores.resize(static_cast<std::size_t>(samples));
  return scores;
}

double Share(const std::vector<double>& scores) {
  const auto above = std::count_if(scores.begin(), scores.end(), [](double score) { return score > 0; });
  return static_cast<double>(above) / static_cast<double>(scores.size());
}

}  // namespace

Result<privacy::AuditFinding> AuditResponseStep(const TrialSpec& spec, std::int64_t classes,
                                                const StepAuditSettings& settings) {
  const release::ResponseSettings seen = SeenSettings(spec, classes);
  RETORT_ASSIGN_OR_RETURN(const auto mechanism,
                          RandomizedResponse::Create(seen, noise::NoiseKey::FromOperatingSystem()));
  const privacy::Bound bound =
      privacy::ComputeRelationBound(privacy::kAnswer, {mechanism->Describe(1)}, settings.delta, nullptr);
  if (std::isinf(bound.epsilon)) return Refused("Nothing is proven of this answer: " + bound.reason + ".");
  RETORT_ASSIGN_OR_RETURN(const std::vector<double> one, ComputeScores(seen, 0, settings.samples));
  RETORT_ASSIGN_OR_RETURN(const std::vector<double> other, ComputeScores(seen, 1, settings.samples));
  const std::string at_epsilon = "epsilon0 " + FormatSixDigits(seen.epsilon0);
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::release_step;
  finding.subject =
      "a randomised response at " + at_epsilon + ", " + std::to_string(settings.samples) + " samples a side";
  finding.confidence = settings.confidence;
  finding.proven = bound.epsilon;
  finding.alarm_lower = privacy::ScoreEpsilonLower(one, other, settings.delta, privacy::kAlarmConfidence);
  const std::int64_t judged = settings.samples - settings.samples / 2;
  finding.ceiling = privacy::AttackEpsilonLower({judged, judged, 0}, settings.delta, settings.confidence);
  privacy::Claim claim;
  claim.adjacency = privacy::kAnswer.adjacency;
  claim.neighbour = privacy::kAnswer.neighbour;
  claim.delta = settings.delta;
  claim.lower = privacy::ScoreEpsilonLower(one, other, settings.delta, settings.confidence);
  claim.status = privacy::ClaimStatus::audited;
  claim.units = "one answer at " + at_epsilon;
  claim.accountant = "audit:release-step";
  finding.claim = std::move(claim);
  finding.figures = {{"true_positive_rate", Share(one)}, {"false_positive_rate", Share(other)}};
  return finding;
}

}  // namespace retort::worker::audit
