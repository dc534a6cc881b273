#include "worker/release/dpsgd_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "worker/noise/lattice_normal.h"
#include "worker/release/lattice.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

ClippedSum::ClippedSum(std::int64_t coordinates, const Lattice& lattice, std::vector<std::int64_t> layers)
    : sum_(at::zeros({coordinates}, at::kDouble)), lattice_(lattice), layers_(std::move(layers)) {
  RETORT_CHECK(coordinates > 0);
  if (layers_.empty()) layers_ = {coordinates};
  RETORT_CHECK(std::accumulate(layers_.begin(), layers_.end(), std::int64_t{0}) == coordinates);
}

void ClippedSum::MoveTo(const at::Tensor& gradients) {
  if (sum_.device() == gradients.device()) return;
  RETORT_CHECK(examples_ == 0);
  sum_ = at::zeros(sum_.sizes(), gradients.options().dtype(at::kDouble));
}

void ClippedSum::Add(const at::Tensor& gradients) {
  RETORT_CHECK(gradients.dim() == 2 && gradients.size(1) == sum_.size(0));
  const at::NoGradGuard no_grad;
  MoveTo(gradients);
  Lattice part = lattice_;
  part.longest = std::floor(lattice_.longest / std::sqrt(static_cast<double>(layers_.size())));
  std::vector<at::Tensor> factors;
  at::Tensor kept;
  for (std::int64_t first = 0; const std::int64_t coordinates : layers_) {
    factors.push_back(ClipFactors(gradients.narrow(1, first, coordinates), part));
    kept = kept.defined() ? kept.logical_and(factors.back() != 0) : factors.back() != 0;
    first += coordinates;
  }
  for (std::int64_t first = 0, i = 0; i < std::ssize(layers_); ++i) {
    const std::int64_t coordinates = layers_[static_cast<std::size_t>(i)];
    at::Tensor sum = sum_.narrow(0, first, coordinates);
    AddRounded(gradients.narrow(1, first, coordinates), at::where(kept, factors[static_cast<std::size_t>(i)], 0.0),
               sum);
    first += coordinates;
  }
  examples_ += gradients.size(0);
}

void ClippedSum::AddOuter(const at::Tensor& left, const at::Tensor& right) {
  RETORT_CHECK(left.dim() == 2 && right.dim() == 2 && left.size(0) == right.size(0) && layers_.size() == 1 &&
               left.size(1) * right.size(1) == sum_.size(0));
  const at::NoGradGuard no_grad;
  MoveTo(left);
  AddRoundedOuter(left, right, lattice_, sum_);
  examples_ += left.size(0);
}

Status ClippedSum::Reduce(Collective& gang) {
  if (gang.size() == 1) return {};
  at::Tensor total = at::cat({sum_, at::full({1}, static_cast<double>(examples_), sum_.options())});
  RETORT_RETURN_IF_ERROR(gang.AllReduceSum(total));
  sum_ = total.narrow(0, 0, sum_.size(0)).contiguous();
  examples_ = total[-1].item<std::int64_t>();
  return {};
}

DpSgdStep::DpSgdStep(const DpSgdSettings& settings, const Lattice& lattice, noise::NoiseKey key)
    : settings_(settings), lattice_(lattice), key_(std::move(key)) {}

Result<DpSgdStep> DpSgdStep::Create(const DpSgdSettings& settings, noise::NoiseKey key) {
  if (!(settings.norm_bound > 0) || !(settings.noise_multiplier > 0) || settings.coordinates < 1 ||
      !(settings.sampling_rate > 0 && settings.sampling_rate <= 1)) {
    return UsageError("DP-SGD needs norm_bound > 0, noise_multiplier > 0 and a batch no larger than the train range.");
  }
  RETORT_ASSIGN_OR_RETURN(const Lattice lattice,
                          Lattice::For(settings.norm_bound, settings.noise_multiplier * settings.norm_bound));
  return DpSgdStep(settings, lattice, std::move(key));
}

Result<DpSgdStep> DpSgdStep::FromSpec(const TrialSpec& spec, std::int64_t coordinates) {
  RETORT_CHECK(spec.data != nullptr);
  DpSgdSettings settings;
  settings.norm_bound = spec.release.norm_bound;
  settings.noise_multiplier = spec.release.noise_multiplier;
  settings.sampling_rate = static_cast<double>(spec.batch) / static_cast<double>(spec.data->PrivateExamples());
  settings.batch = spec.batch;
  settings.coordinates = coordinates;
  return Create(settings, MakeNoiseKey(spec));
}

ClippedSum DpSgdStep::NewSum(std::vector<std::int64_t> layers) const {
  return {settings_.coordinates, lattice_, std::move(layers)};
}

privacy::PrivacyEvent DpSgdStep::Describe(std::int64_t steps) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::subsampled_gaussian;
  event.unit = privacy::EventUnit::step;
  event.count = steps;
  event.sensitivity = settings_.norm_bound;
  event.noise_std = settings_.noise_multiplier * settings_.norm_bound;
  event.granularity = lattice_.step;
  event.sampling_rate = settings_.sampling_rate;
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = settings_.coordinates;
  event.release_coordinates = settings_.coordinates;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  if (event.sampling_rate < 1) event.assumptions.emplace_back(privacy::kAssumePoissonSampling);
  return event;
}

Result<at::Tensor> DpSgdStep::Release(ClippedSum&& sum, std::int64_t step, Charge&& charge) {
  const Charge spent = std::move(charge);
  const ClippedSum clipped = std::move(sum);
  const privacy::PrivacyEvent event = Describe(1);
  RETORT_RETURN_IF_ERROR(spent.Covers(event));
  if (clipped.sum_.size(0) != settings_.coordinates || clipped.lattice_.step != lattice_.step ||
      clipped.lattice_.longest > lattice_.longest) {
    return Refused("The gradient sum was clipped for another norm bound, noise or network than its event says.");
  }
  if (clipped.examples_ > ClippedSum::kMaxExamples) {
    return Refused("The gradient sum is of more than " + std::to_string(ClippedSum::kMaxExamples) +
                   " examples: it is no longer exact. Lower the batch.");
  }
  if (step <= last_step_) return Refused("Step " + std::to_string(step) + " drew its noise before.");
  last_step_ = step;
  at::Tensor noise = at::empty({settings_.coordinates}, at::kDouble);
  noise::FillLatticeNormal(key_, {static_cast<std::uint64_t>(step), noise::Purpose::dpsgd}, 0, lattice_.scale,
                           std::span(noise.data_ptr<double>(), static_cast<std::size_t>(noise.numel())));
  return lattice_.ToFloat(noise.add_(clipped.sum_.cpu()));
}

}  // namespace retort::worker::release
