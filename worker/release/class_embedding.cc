#include "worker/release/class_embedding.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/zeros.h>

#include <span>
#include <string>
#include <utility>

#include "worker/noise/lattice_normal.h"
#include "worker/release/lattice.h"

namespace retort::worker::release {

EmbeddingSum::EmbeddingSum(std::int64_t classes, std::int64_t features, const Lattice& lattice)
    : sum_(at::zeros({classes, features}, at::kDouble)), lattice_(lattice) {
  RETORT_CHECK(classes > 0 && features > 0);
}

void EmbeddingSum::Add(const at::Tensor& features, const at::Tensor& labels) {
  RETORT_CHECK(features.dim() == 2 && features.size(1) == sum_.size(1) && labels.size(0) == features.size(0));
  const at::NoGradGuard no_grad;
  const at::Tensor rows = RoundRows(features, ClipFactors(features, lattice_));
  sum_ += at::mm(at::one_hot(labels, sum_.size(0)).to(at::kDouble).t(), rows).cpu();
  examples_ += features.size(0);
}

Status EmbeddingSum::Reduce(Collective& gang) {
  if (gang.size() == 1) return {};
  at::Tensor examples = at::full({1}, static_cast<double>(examples_), at::kDouble);
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(examples));
  examples_ = examples.item<std::int64_t>();
  return gang.AllReduceSum(sum_);
}

ClassEmbedding::ClassEmbedding(const EmbeddingSettings& settings, const Lattice& lattice, noise::NoiseKey key)
    : settings_(settings), lattice_(lattice), key_(std::move(key)) {}

Result<ClassEmbedding> ClassEmbedding::Create(const EmbeddingSettings& settings, noise::NoiseKey key) {
  if (!(settings.noise_multiplier > 0) || settings.classes < 1 || settings.features < 1)
    return UsageError("The embedding of the private examples needs noise_multiplier > 0.");
  RETORT_ASSIGN_OR_RETURN(const Lattice lattice, Lattice::For(1, settings.noise_multiplier));
  return ClassEmbedding(settings, lattice, std::move(key));
}

EmbeddingSum ClassEmbedding::NewSum() const { return {settings_.classes, settings_.features, lattice_}; }

privacy::PrivacyEvent ClassEmbedding::Describe(std::int64_t draws) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::subsampled_gaussian;
  event.unit = privacy::EventUnit::step;
  event.count = draws;
  event.sensitivity = 1;
  event.noise_std = settings_.noise_multiplier;
  event.granularity = lattice_.step;
  event.sampling_rate = 1;
  event.noise_coordinates = event.release_coordinates = settings_.classes * settings_.features;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  return event;
}

Result<at::Tensor> ClassEmbedding::Release(EmbeddingSum&& sum, std::int64_t step, Charge&& charge) {
  const Charge spent = std::move(charge);
  const EmbeddingSum embedding = std::move(sum);
  const privacy::PrivacyEvent event = Describe(1);
  RETORT_RETURN_IF_ERROR(spent.Covers(event));
  if (embedding.sum_.size(0) != settings_.classes || embedding.sum_.size(1) != settings_.features)
    return Refused("The embedding has another shape than its event says.");
  if (embedding.lattice_.step != lattice_.step)
    return Refused("The embedding was made for another noise than its event says.");
  if (embedding.examples_ > EmbeddingSum::kMaxExamples) {
    return Refused("The embedding is of more than " + std::to_string(EmbeddingSum::kMaxExamples) +
                   " private examples: its sum is no longer exact.");
  }
  if (step <= last_step_) return Refused("Step " + std::to_string(step) + " drew its noise before.");
  last_step_ = step;
  at::Tensor noise = at::empty({settings_.classes, settings_.features}, at::kDouble);
  noise::FillLatticeNormal(key_, {static_cast<std::uint64_t>(step), noise::Purpose::embedding}, 0, lattice_.scale,
                           std::span(noise.data_ptr<double>(), static_cast<std::size_t>(noise.numel())));
  return lattice_.ToFloat(noise.add_(embedding.sum_));
}

}  // namespace retort::worker::release
