#include "worker/release/class_embedding.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <span>
#include <string>
#include <utility>

#include "worker/noise/keyed_normal.h"

namespace retort::worker::release {

EmbeddingSum::EmbeddingSum(std::int64_t classes, std::int64_t features)
    : sum_(at::zeros({classes, features}, at::kDouble)) {
  RETORT_CHECK(classes > 0 && features > 0);
}

void EmbeddingSum::Add(const at::Tensor& features, const at::Tensor& labels) {
  RETORT_CHECK(features.dim() == 2 && features.size(1) == sum_.size(1) && labels.size(0) == features.size(0));
  const at::NoGradGuard no_grad;
  const at::Tensor norms = at::linalg_vector_norm(features, 2, 1, false, at::kDouble);
  const at::Tensor finite = at::isfinite(norms);
  const at::Tensor weights = at::where(finite, 1 / norms.clamp_min(1), 0.0);
  const at::Tensor rows = at::where(finite.unsqueeze(1), features, at::zeros({}, features.options())).to(at::kDouble);
  const at::Tensor by_class = at::one_hot(labels, sum_.size(0)).to(at::kDouble) * weights.unsqueeze(1);
  sum_ += at::mm(by_class.t(), rows).cpu();
}

Status EmbeddingSum::Reduce(Collective& gang) {
  if (gang.size() == 1) return {};
  return gang.AllReduceSum(sum_);
}

ClassEmbedding::ClassEmbedding(const EmbeddingSettings& settings, noise::NoiseKey key)
    : settings_(settings), key_(std::move(key)) {}

Result<ClassEmbedding> ClassEmbedding::Create(const EmbeddingSettings& settings, noise::NoiseKey key) {
  if (!(settings.noise_multiplier > 0) || settings.classes < 1 || settings.features < 1)
    return UsageError("The embedding of the private examples needs noise_multiplier > 0.");
  return ClassEmbedding(settings, std::move(key));
}

privacy::PrivacyEvent ClassEmbedding::Describe(std::int64_t draws) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::subsampled_gaussian;
  event.unit = privacy::EventUnit::step;
  event.count = draws;
  event.sensitivity = 1;
  event.noise_std = settings_.noise_multiplier;
  event.sampling_rate = 1;
  event.noise_coordinates = event.release_coordinates = settings_.classes * settings_.features;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_float;
  event.assumptions = {std::string(privacy::kAssumeFloatNoise)};
  return event;
}

Result<at::Tensor> ClassEmbedding::Release(EmbeddingSum&& sum, std::int64_t step, Charge&& charge) {
  const Charge spent = std::move(charge);
  const EmbeddingSum embedding = std::move(sum);
  const privacy::PrivacyEvent event = Describe(1);
  RETORT_RETURN_IF_ERROR(spent.Covers(event));
  if (embedding.sum_.size(0) != settings_.classes || embedding.sum_.size(1) != settings_.features)
    return Refused("The embedding has another shape than its event says.");
  if (step <= last_step_) return Refused("Step " + std::to_string(step) + " drew its noise before.");
  last_step_ = step;
  at::Tensor noise = at::empty({settings_.classes, settings_.features}, at::kFloat);
  noise::FillNormal(key_, {static_cast<std::uint64_t>(step), noise::Purpose::embedding}, 0, event.noise_std,
                    std::span(noise.data_ptr<float>(), static_cast<std::size_t>(noise.numel())));
  return (embedding.sum_ + noise).to(at::kFloat);
}

}  // namespace retort::worker::release
