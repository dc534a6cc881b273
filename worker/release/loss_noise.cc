#include "worker/release/loss_noise.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "worker/noise/keyed_normal.h"

namespace retort::worker::release {

LossNoise::LossNoise(const LossSettings& settings, noise::NoiseKey key)
    : settings_(settings), key_(std::move(key)) {}

Result<std::unique_ptr<LossNoise>> LossNoise::Create(const LossSettings& settings, noise::NoiseKey key) {
  if (!(settings.sigma > 0) || !(settings.norm_bound > 0) || !(settings.temperature > 0) ||
      settings.batch < 1 || settings.classes < 2) {
    return UsageError("Noise on the loss needs sigma, norm_bound, temperature and batch above 0.");
  }
  return std::unique_ptr<LossNoise>(new LossNoise(settings, std::move(key)));
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
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = 1;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_float;
  event.assumptions = {std::string(privacy::kAssumeFloatNoise)};
  return event;
}

Status LossNoise::Check(const Answers& answers) const {
  const Query& query = answers.query_;
  const bool hints = answers.hint_.defined();
  if (!hints && (!answers.logits_.defined() || !query.student_logits.defined()))
    return Refused(
        "Noise on the loss needs a single teacher's answers and the student's logits on the same rows.");
  const bool shape = hints ? answers.hint_.sizes() == query.student_hint.sizes()
                           : answers.logits_.size(1) == settings_.classes &&
                                 answers.logits_.sizes() == query.student_logits.sizes();
  if (!shape || answers.rows() > settings_.batch) return Refused("The answers have another shape than the event.");
  if (query.step <= last_step_)
    return Refused("Step " + std::to_string(query.step) + " drew its noise before.");
  return {};
}

Released LossNoise::Clipped(const RowLosses& answered, std::int64_t step) const {
  const at::Tensor &losses = answered.losses, &gradients = answered.gradients;
  const double bound = settings_.norm_bound;
  const auto rows = static_cast<double>(std::max<std::int64_t>(losses.size(0), 1));
  const bool by_row = settings_.unit == LossUnit::row;
  std::vector<float> noise(by_row ? static_cast<std::size_t>(losses.size(0)) : 1);
  noise::FillNormal(key_, {static_cast<std::uint64_t>(step), noise::Purpose::loss}, 0, settings_.sigma * bound, noise);
  Released released;
  double loss = 0;
  if (by_row) {
    const at::Tensor kept = (losses <= bound).to(at::kFloat).div_(rows);
    std::vector<std::int64_t> shape(static_cast<std::size_t>(gradients.dim()), 1);
    shape[0] = losses.size(0);
    released.values = gradients * kept.view(shape);
    loss = losses.clamp_max(bound).sum().item<double>();
    for (const float draw : noise) loss += static_cast<double>(draw);
    loss /= rows;
  } else {
    const double mean = losses.sum().item<double>() / rows;
    released.values = mean <= bound ? gradients / rows : at::zeros_like(gradients);
    loss = std::min(mean, bound) + static_cast<double>(noise[0]);
  }
  released.loss = at::full({}, loss, at::kFloat);
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
          : DistillationLosses(answers.logits_, answers.query_.student_logits, settings_.temperature);
  return Clipped(rows, answers.step());
}

}  // namespace retort::worker::release
