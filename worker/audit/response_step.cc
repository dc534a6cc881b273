#include "worker/audit/response_step.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiments/privacy/audit_bounds.h"
#include "experiments/privacy/number_text.h"
#include "experiments/privacy/score_attack.h"
#include "worker/audit/free_port.h"
#include "worker/release/randomized_response.h"
#include "worker/release/told_teacher.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kRows = 256;
constexpr std::int64_t kReleasesOfOne = 64;  // after which the mechanism has remembered enough

using release::RandomizedResponse;

release::ResponseSettings SeenSettings(const TrialSpec& spec, std::int64_t classes) {
  release::ResponseSettings settings = release::ResponseOf(spec, classes, 1);
  settings.epsilon0 = std::min(settings.epsilon0, kSeenEpsilon);
  settings.batch = kRows;
  return settings;
}

// The lowest classes, as many as the trial's rows have, or two.
at::Tensor Candidates(const release::ResponseSettings& settings) {
  at::Tensor candidates = at::zeros({kRows, settings.classes}, at::kBool);
  candidates.slice(1, 0, std::max<std::int64_t>(settings.candidates, 2)).fill_(true);
  return candidates;
}

// `samples` answers of a teacher that is sure of `label`, 0 or 1: answers of class 0 less those of class 1.
Result<std::vector<double>> Scores(const release::ResponseSettings& settings, std::int64_t label,
                                   std::int64_t samples) {
  at::Tensor said = at::zeros({kRows, settings.classes});
  said.select(1, label).fill_(30);
  release::ToldTeacher teacher(said);
  const at::Tensor candidates = Candidates(settings);
  std::vector<double> scores;
  while (static_cast<std::int64_t>(scores.size()) < samples) {
    RETORT_ASSIGN_OR_RETURN(const auto mechanism,
                            RandomizedResponse::Create(settings, noise::NoiseKey::FromOperatingSystem()));
    FreePort port;
    release::ChargeBook book(&port, 1, privacy::kMostDraws);
    for (std::int64_t step = 0; step < kReleasesOfOne && static_cast<std::int64_t>(scores.size()) < samples; ++step) {
      const at::Tensor inputs =
          at::arange(kRows, at::kFloat).add(static_cast<double>(step * kRows)).reshape({kRows, 1, 1, 1});
      const release::Answers answers = release::Oracle::Ask(teacher, {inputs, {}, step, 1, candidates});
      RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                              book.Take(mechanism->Describe(kRows), mechanism->DrawsFor(answers)));
      RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism->Release(answers, std::move(charge)));
      const at::Tensor values = released.values.to(at::kDouble);
      const at::Tensor score = (values.select(1, 0) - values.select(1, 1)).contiguous();
      scores.insert(scores.end(), score.const_data_ptr<double>(), score.const_data_ptr<double>() + kRows);
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
  const privacy::Bound bound = privacy::BoundFor(privacy::kAnswer, {mechanism->Describe(1)}, settings.delta, nullptr);
  if (std::isinf(bound.epsilon)) return Refused("Nothing is proven of this answer: " + bound.reason + ".");
  RETORT_ASSIGN_OR_RETURN(const std::vector<double> one, Scores(seen, 0, settings.samples));
  RETORT_ASSIGN_OR_RETURN(const std::vector<double> other, Scores(seen, 1, settings.samples));
  const std::string at_epsilon = "epsilon0 " + privacy::ShortNumber(seen.epsilon0);
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
