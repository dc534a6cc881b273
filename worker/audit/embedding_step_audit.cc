#include "worker/audit/embedding_step_audit.h"

#include <ATen/ATen.h>

#include "worker/audit/added_example.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kClasses = 2, kFeatures = 4;

}  // namespace

Result<privacy::AuditFinding> AuditEmbeddingStep(const EmbeddingMaker& make,
                                                 const release::EmbeddingSettings& settings,
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

release::EmbeddingSettings ScaledEmbedding(double mu) {
  return {.noise_multiplier = 1 / mu, .classes = kClasses, .features = kFeatures};
}

}  // namespace retort::worker::audit
