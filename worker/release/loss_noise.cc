#include "worker/release/loss_noise.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

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

privacy::PrivacyEvent LossNoise::Describe(std::int64_t) const {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::loss_noise;
  event.unit = privacy::EventUnit::batch;
  event.count = 1;
  event.sensitivity = 1;
  event.noise_std = settings_.sigma;
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = 1;
  event.release_coordinates = settings_.classes;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_float;
  event.assumptions = {std::string(privacy::kAssumeFloatNoise)};
  return event;
}

Result<Released> LossNoise::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  RETORT_RETURN_IF_ERROR(spent.Covers(Describe(answers.rows())));
  const Query& query = answers.query_;
  if (!answers.logits_.defined() || !query.student_logits.defined())
    return Refused(
        "Noise on the loss needs a single teacher's answers and the student's logits on the same rows.");
  if (answers.logits_.size(1) != settings_.classes || answers.rows() > settings_.batch)
    return Refused("The answers have another shape than the event.");
  if (query.step <= last_step_)
    return Refused("Step " + std::to_string(query.step) + " drew its noise before.");
  last_step_ = query.step;

  const at::NoGradGuard no_grad;
  const at::Tensor teacher = (answers.logits_ / settings_.temperature).softmax(-1);
  const at::Tensor student = (query.student_logits / settings_.temperature).log_softmax(-1);
  const double rows = static_cast<double>(std::max<std::int64_t>(answers.rows(), 1));
  const double loss = -(teacher * student).sum().item<double>() / rows;
  std::array<float, 1> noise{};
  noise::FillNormal(key_, {static_cast<std::uint64_t>(query.step), noise::Purpose::loss}, 0,
                    settings_.sigma * settings_.norm_bound, noise);
  const at::Tensor gradient = (student.exp() - teacher) / (settings_.temperature * rows);
  Released released;
  released.values = loss <= settings_.norm_bound ? gradient : at::zeros_like(gradient);
  released.loss =
      at::full({}, std::min(loss, settings_.norm_bound) + static_cast<double>(noise[0]), at::kFloat);
  return released;
}

}  // namespace retort::worker::release
