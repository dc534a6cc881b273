#include "worker/audit/embedding_step_audit.h"

#include <ATen/ATen.h>

#include <string>
#include <utility>
#include <vector>

#include "worker/audit/free_port.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kClasses = 2, kFeatures = 4;

Result<std::vector<double>> Scores(const EmbeddingMaker& make, const release::EmbeddingSettings& settings, bool present,
                                   std::int64_t samples) {
  RETORT_ASSIGN_OR_RETURN(release::ClassEmbedding mechanism, make());
  FreePort port;
  release::ChargeBook book(&port, samples, samples);
  at::Tensor features = at::zeros({1, settings.features});
  features[0][0] = 100;  // shortened
  const at::Tensor label = at::zeros({1}, at::kLong);
  std::vector<double> scores;
  scores.reserve(static_cast<std::size_t>(samples));
  for (std::int64_t i = 0; i < samples; ++i) {
    release::EmbeddingSum sum(settings.classes, settings.features);
    if (present) sum.Add(features, label);
    RETORT_ASSIGN_OR_RETURN(release::Charge charge, book.Take(mechanism.Describe(1), 1));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, mechanism.Release(std::move(sum), i, std::move(charge)));
    scores.push_back(static_cast<double>(released.const_data_ptr<float>()[0]) - 0.5);
  }
  return scores;
}

}  // namespace

Result<privacy::AuditFinding> AuditEmbeddingStep(const EmbeddingMaker& make,
                                                 const release::EmbeddingSettings& settings,
                                                 const StepAuditSettings& audit) {
  RETORT_ASSIGN_OR_RETURN(const release::ClassEmbedding mechanism, make());
  const privacy::PrivacyEvent event = mechanism.Describe(1);
  const std::string problem = privacy::EventProblem(event);
  if (!problem.empty()) return Refused("Nothing is proven of this release: " + problem + ".");
  StepScores scores;
  RETORT_ASSIGN_OR_RETURN(scores.one, Scores(make, settings, true, audit.samples));
  RETORT_ASSIGN_OR_RETURN(scores.other, Scores(make, settings, false, audit.samples));
  return JudgeScores(scores, "the embedding of the examples", privacy::kExampleAdded,
                     event.sensitivity / event.noise_std, audit);
}

release::EmbeddingSettings ScaledEmbedding(double mu) {
  return {.noise_multiplier = 1 / mu, .classes = kClasses, .features = kFeatures};
}

}  // namespace retort::worker::audit
