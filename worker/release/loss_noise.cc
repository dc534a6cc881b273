#include "worker/release/loss_noise.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "worker/noise/lattice_normal.h"

namespace retort::worker::release {

RowLosses ComputeDistillationLosses(const at::Tensor& teacher, const at::Tensor& student, double temperature) {
  const at::NoGradGuard no_grad;
  const at::Tensor wanted = (teacher / temperature).softmax(-1);
  const at::Tensor log_p = (student / temperature).log_softmax(-1);
  return {(wanted * log_p).sum(1).neg_(), (log_p.exp() - wanted).div_(temperature)};
}

RowLosses HintLosses(const at::Tensor& hint, const at::Tensor& adapted) {
  const at::NoGradGuard no_grad;
  at::Tensor difference = adapted - hint;
  const at::Tensor losses = difference.flatten(1).square().sum(1).mul_(0.5);
  return {losses, std::move(difference)};
}

LossNoise::LossNoise(const LossSettings& settings, const Lattice& lattice, noise::NoiseKey key)
    : settings_(settings), lattice_(lattice), key_(std::move(key)) {}

Result<std::unique_ptr<LossNoise>> LossNoise::Create(const LossSettings& settings, noise::NoiseKey key) {
  if (!(settings.sigma > 0) || !(settings.norm_bound > 0) || !(settings.temperature > 0) || settings.batch < 1 ||
      settings.classes < 2) {
    return UsageError("Noise on the loss needs sigma, norm_bound, temperature and batch above 0.");
  }
  RETORT_ASSIGN_OR_RETURN(const Lattice lattice, Lattice::For(1, settings.sigma));
  return std::unique_ptr<LossNoise>(new LossNoise(settings, lattice, std::move(key)));
}

void LossNoise::SetNormBound(double norm_bound) {
  RETORT_CHECK(norm_bound > 0);
  settings_.norm_bound = norm_bound;
}

privacy::PrivacyEvent LossNoise::Describe(std::int64_t rows) const {
  const bool by_row = settings_.unit == LossUnit::row;
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::loss_noise;
  event.unit = by_row ? privacy::EventUnit::row : privacy::EventUnit::batch;
  event.count = by_row ? rows : 1;
  event.sensitivity = 1;
  event.noise_std = settings_.sigma;
  event.granularity = lattice_.step;
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = 1;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  return event;
}

Status LossNoise::Check(const Answers& answers) const {
  const Query& query = answers.query_;
  const bool hints = answers.hint_.defined();
  if (!hints && (!answers.logits_.defined() || !query.student_logits.defined()))
    return Refused("Noise on the loss needs a single teacher's answers and the student's logits on the same rows.");
  const bool shape =
      hints ? answers.hint_.sizes() == query.student_hint.sizes()
            : answers.logits_.size(1) == settings_.classes && answers.logits_.sizes() == query.student_logits.sizes();
  if (!shape || answers.rows() > settings_.batch) return Refused("The answers have another shape than the event.");
  if (query.step <= last_step_) return Refused("Step " + std::to_string(query.step) + " drew its noise before.");
  return {};
}

// Losses in [0, B] and their noise are rounded to the lattice of B, and added up there. What is not a number counts as
// 0.
Released LossNoise::Clipped(const RowLosses& answered, std::int64_t step) const {
  const at::Tensor &losses = answered.losses, &gradients = answered.gradients;
  const double bound = settings_.norm_bound;
  const auto rows = static_cast<double>(std::max<std::int64_t>(losses.size(0), 1));
  const bool by_row = settings_.unit == LossUnit::row;
  std::vector<double> noise(by_row ? static_cast<std::size_t>(losses.size(0)) : 1);
  noise::FillLatticeNormal(key_, {static_cast<std::uint64_t>(step), noise::Purpose::loss}, 0, lattice_.scale, noise);
  const at::Tensor wide = losses.to(at::kDouble);
  const auto clipped = [&](const at::Tensor& values) {  // in steps, each at most 1 / step
    const at::Tensor steps = (values.clamp(0, bound) / (bound * lattice_.step)).round();
    return at::where(steps <= lattice_.longest, steps, 0.0);
  };
  Released released;
  double steps = std::accumulate(noise.begin(), noise.end(), 0.0);
  if (by_row) {
    const at::Tensor kept = (losses <= bound).to(at::kFloat).div_(rows);
    std::vector<std::int64_t> shape(static_cast<std::size_t>(gradients.dim()), 1);
    shape[0] = losses.size(0);
    released.values = gradients * kept.view(shape);
    steps = (steps + clipped(wide).sum().item<double>()) / rows;
  } else {
    const at::Tensor mean = wide.sum() / rows;
    released.values = mean.item<double>() <= bound ? gradients / rows : at::zeros_like(gradients);
    steps += clipped(mean).item<double>();
  }
  released.loss = at::full({}, steps * lattice_.step * bound, at::kFloat);
  return released;
}

Result<Released> LossNoise::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(answers.rows())));
  RETORT_RETURN_IF_ERROR(Check(answers));
  last_step_ = answers.step();

  const at::NoGradGuard no_grad;
  const RowLosses rows =
      answers.hint_.defined()
          ? HintLosses(answers.hint_, answers.query_.student_hint)
          : ComputeDistillationLosses(answers.logits_, answers.query_.student_logits, settings_.temperature);
  return Clipped(rows, answers.step());
}

}  // namespace retort::worker::release
