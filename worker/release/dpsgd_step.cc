#include "worker/release/dpsgd_step.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "worker/noise/keyed_normal.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

ClippedSum::ClippedSum(std::int64_t coordinates, double norm_bound, std::vector<std::int64_t> layers)
    : sum_(at::zeros({coordinates}, at::kDouble)), norm_bound_(norm_bound), layers_(std::move(layers)) {
  RETORT_CHECK(coordinates > 0 && norm_bound > 0);
  if (layers_.empty()) layers_ = {coordinates};
  RETORT_CHECK(std::accumulate(layers_.begin(), layers_.end(), std::int64_t{0}) == coordinates);
}

void ClippedSum::Add(const at::Tensor& gradients) {
  RETORT_CHECK(gradients.dim() == 2 && gradients.size(1) == sum_.size(0));
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts, norms;
  for (std::int64_t first = 0; const std::int64_t coordinates : layers_) {
    parts.push_back(gradients.narrow(1, first, coordinates));
    norms.push_back(at::linalg_vector_norm(parts.back(), 2, 1, false, at::kDouble));
    first += coordinates;
  }
  const at::Tensor finite = at::isfinite(at::stack(norms)).all(0);
  const double bound = norm_bound_ / std::sqrt(static_cast<double>(layers_.size()));
  for (std::int64_t first = 0, i = 0; i < std::ssize(parts); ++i) {
    const auto layer = static_cast<std::size_t>(i);
    const at::Tensor weights = at::where(finite, bound / norms[layer].clamp_min(bound), 0.0).to(at::kFloat);
    // A weight of zero does not silence NaN; such rows are replaced, not multiplied.
    const at::Tensor rows =
        at::where(finite.unsqueeze(1), parts[layer], at::zeros({}, gradients.options()));
    sum_.narrow(0, first, layers_[layer]) += at::mv(rows.t(), weights).to(at::kDouble).cpu();
    first += layers_[layer];
  }
}

void ClippedSum::AddOuter(const at::Tensor& left, const at::Tensor& right) {
  RETORT_CHECK(left.dim() == 2 && right.dim() == 2 && left.size(0) == right.size(0) && layers_.size() == 1 &&
               left.size(1) * right.size(1) == sum_.size(0));
  const at::NoGradGuard no_grad;
  // |l r^T| = |l| |r|; one that is not finite makes the product so, or NaN.
  const at::Tensor norms = left.to(at::kDouble).square().sum(1, true).sqrt() *
                           at::linalg_vector_norm(right, 2, 1, true, at::kDouble);
  const at::Tensor finite = at::isfinite(norms);
  const at::Tensor weights = (norm_bound_ / norms.clamp_min(norm_bound_)).to(at::kFloat);
  at::Tensor clipped = left * weights, seen = right;
  if (!finite.all().item<bool>()) {  // what is finite need not be copied
    const at::Tensor nothing = at::zeros({}, left.options());
    clipped = at::where(finite, clipped, nothing);
    seen = at::where(finite, seen, nothing);
  }
  sum_ += at::matmul(clipped.t(), seen).flatten().to(at::kDouble).cpu();
}

Status ClippedSum::Reduce(Collective& gang) {
  if (gang.size() == 1) return {};
  at::Tensor total = sum_.to(at::kFloat);
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(total));
  sum_ = total.to(at::kDouble);
  return {};
}

DpSgdStep::DpSgdStep(const DpSgdSettings& settings, noise::NoiseKey key)
    : settings_(settings), key_(std::move(key)) {}

Result<DpSgdStep> DpSgdStep::Create(const DpSgdSettings& settings, noise::NoiseKey key) {
  if (!(settings.norm_bound > 0) || !(settings.noise_multiplier > 0) || settings.coordinates < 1 ||
      !(settings.sampling_rate > 0 && settings.sampling_rate <= 1)) {
    return UsageError(
        "DP-SGD needs norm_bound > 0, noise_multiplier > 0 and a batch no larger than the train range.");
  }
  return DpSgdStep(settings, std::move(key));
}

Result<DpSgdStep> DpSgdStep::FromSpec(const TrialSpec& spec, std::int64_t coordinates) {
  RETORT_CHECK(spec.data != nullptr);
  DpSgdSettings settings;
  settings.norm_bound = spec.norm_bound;
  settings.noise_multiplier = spec.noise_multiplier;
  settings.sampling_rate =
      static_cast<double>(spec.batch) / static_cast<double>(spec.data->PrivateExamples());
  settings.batch = spec.batch;
  settings.coordinates = coordinates;
  return Create(settings, KeyFor(spec));
}

privacy::PrivacyEvent DpSgdStep::Describe(std::int64_t steps) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::subsampled_gaussian;
  event.unit = privacy::EventUnit::step;
  event.count = steps;
  event.sensitivity = settings_.norm_bound;
  event.noise_std = settings_.noise_multiplier * settings_.norm_bound;
  event.sampling_rate = settings_.sampling_rate;
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = settings_.coordinates;
  event.release_coordinates = settings_.coordinates;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_float;
  event.assumptions = {std::string(privacy::kAssumeFloatNoise)};
  if (event.sampling_rate < 1) event.assumptions.emplace_back(privacy::kAssumePoissonSampling);
  return event;
}

Result<at::Tensor> DpSgdStep::Release(ClippedSum&& sum, std::int64_t step, Charge&& charge) {
  const Charge spent = std::move(charge);
  const ClippedSum clipped = std::move(sum);
  const privacy::PrivacyEvent event = Describe(1);
  RETORT_RETURN_IF_ERROR(spent.Covers(event));
  if (clipped.sum_.size(0) != settings_.coordinates || clipped.norm_bound_ > settings_.norm_bound) {
    return Refused(
        "The gradient sum was clipped for another norm bound or another network than its event says.");
  }
  if (step <= last_step_) return Refused("Step " + std::to_string(step) + " drew its noise before.");
  last_step_ = step;
  at::Tensor noise = at::empty({settings_.coordinates}, at::kFloat);
  noise::FillNormal(key_, {static_cast<std::uint64_t>(step), noise::Purpose::dpsgd}, 0, event.noise_std,
                    std::span(noise.data_ptr<float>(), static_cast<std::size_t>(noise.numel())));
  return (clipped.sum_ + noise).to(at::kFloat);
}

}  // namespace retort::worker::release
