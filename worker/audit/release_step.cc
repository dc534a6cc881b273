#include "worker/audit/release_step.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "experiments/privacy/audit_bounds.h"
#include "experiments/privacy/exact_gdp.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/score_attack.h"
#include "worker/audit/free_port.h"
#include "worker/release/told_teacher.h"

namespace retort::worker::audit {
namespace {

// Mechanisms that remember what they answered are made anew now and then.
constexpr std::int64_t kReleasesOfOne = 64;

// Rows that were never asked before: exact in f32 for kReleasesOfOne releases of at most 2^17 rows.
at::Tensor FreshInputs(std::int64_t rows, std::int64_t release) {
  return at::arange(rows, at::kFloat).add(static_cast<double>(release * rows)).reshape({rows, 1, 1, 1});
}

Result<at::Tensor> ReleaseOnce(release::Mechanism& mechanism, release::TeacherModel& teacher,
                               const NeighbourPair& pair, release::ChargeBook& book, std::int64_t step) {
  const release::Answers answers =
      release::Oracle::Ask(teacher, {FreshInputs(pair.rows, step), pair.student, step, pair.grain, {}, pair.gradients});
  RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                          book.Take(mechanism.Describe(pair.rows), mechanism.DrawsFor(answers)));
  RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism.Release(answers, std::move(charge)));
  return released.values;
}

// `samples` scores under a teacher that says `said`.
Result<std::vector<double>> Scores(const MechanismMaker& make, const NeighbourPair& pair,
                                   const at::Tensor& said, std::int64_t samples) {
  release::ToldTeacher teacher(said);
  std::vector<double> scores;
  scores.reserve(static_cast<std::size_t>(samples));
  while (static_cast<std::int64_t>(scores.size()) < samples) {
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<release::Mechanism> mechanism, make());
    FreePort port;
    release::ChargeBook book(&port, 1, privacy::kMostDraws);
    for (std::int64_t step = 0; step < kReleasesOfOne && static_cast<std::int64_t>(scores.size()) < samples;
         ++step) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor values, ReleaseOnce(*mechanism, teacher, pair, book, step));
      at::Tensor seen = values.to(at::kDouble);
      if (pair.base.defined()) seen = seen - pair.base;
      const at::Tensor sums =
          (seen * pair.direction).reshape({pair.rows / pair.group, -1}).sum(1).contiguous();
      const auto* score = sums.const_data_ptr<double>();
      scores.insert(scores.end(), score, score + sums.numel());
    }
  }
  scores.resize(static_cast<std::size_t>(samples));
  return scores;
}

// What one sample costs by the event that the mechanism describes.
Result<double> ProvenMu(const release::Mechanism& mechanism, const NeighbourPair& pair) {
  const privacy::Composition sum = privacy::ComposeFor(pair.relation, {mechanism.Describe(pair.group)});
  if (!sum.unbounded.empty()) return Refused("Nothing is proven of this release: " + sum.unbounded + ".");
  if (!sum.subsampled.empty() || !sum.responses.empty() || sum.gaussian.empty())
    return Refused("This release is not Gaussian.");
  return privacy::ComposedMu(sum.gaussian);
}

std::int64_t Positive(const std::vector<double>& scores) {
  return std::count_if(scores.begin(), scores.end(), [](double score) { return score > 0; });
}

// What two sets of scores tell, in either direction where a score is not a number: that is an outcome like any other.
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

privacy::AuditFinding JudgeScores(const StepScores& scores, const std::string& name,
                                  const privacy::Relation& relation, double mu_proven,
                                  const StepAuditSettings& settings) {
  const auto samples = static_cast<std::int64_t>(scores.one.size());
  const privacy::AttackCounts counts{samples, Positive(scores.one), Positive(scores.other)};
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::release_step;
  finding.subject =
      name + " at mu " + privacy::ShortNumber(mu_proven) + ", " + std::to_string(samples) + " samples a side";
  finding.confidence = settings.confidence;
  finding.mu_proven = mu_proven;
  finding.mu_lower = privacy::AttackMuLower(counts, privacy::kAlarmConfidence);
  finding.proven = privacy::RoundEpsilonUp(privacy::GaussianEpsilon(settings.delta, mu_proven));
  finding.alarm_lower =
      EpsilonLower(scores, settings.delta, privacy::kAlarmConfidence);
  const std::int64_t judged = samples - samples / 2;
  finding.ceiling = privacy::AttackEpsilonLower({judged, judged, 0}, settings.delta, settings.confidence);
  privacy::Claim claim;
  claim.adjacency = relation.adjacency;
  claim.neighbour = relation.neighbour;
  claim.delta = settings.delta;
  claim.lower = EpsilonLower(scores, settings.delta, settings.confidence);
  claim.status = privacy::ClaimStatus::audited;
  claim.units = "one sample of the release step, its noise scaled to mu " + privacy::ShortNumber(mu_proven);
  claim.accountant = "audit:release-step";
  finding.claim = std::move(claim);
  finding.figures = {
      {"power", *finding.mu_lower / mu_proven},
      {"true_positive_rate", static_cast<double>(counts.true_positives) / static_cast<double>(samples)},
      {"false_positive_rate", static_cast<double>(counts.false_positives) / static_cast<double>(samples)}};
  return finding;
}

double PowerOf(const privacy::AuditFinding& finding) {
  return finding.mu_proven.value_or(0) > 0 ? finding.mu_lower.value_or(0) / *finding.mu_proven : 0;
}

Result<privacy::AuditFinding> AuditReleaseStep(const MechanismMaker& make, const NeighbourPair& pair,
                                               const StepAuditSettings& settings) {
  RETORT_CHECK(pair.rows > 0 && pair.group > 0 && pair.rows % pair.group == 0 && settings.samples >= 2);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<release::Mechanism> mechanism, make());
  RETORT_ASSIGN_OR_RETURN(const double mu, ProvenMu(*mechanism, pair));
  StepScores scores;
  RETORT_ASSIGN_OR_RETURN(scores.one, Scores(make, pair, pair.one, settings.samples));
  RETORT_ASSIGN_OR_RETURN(scores.other, Scores(make, pair, pair.other, settings.samples));
  return JudgeScores(scores, pair.name, pair.relation, mu, settings);
}

}  // namespace retort::worker::audit
