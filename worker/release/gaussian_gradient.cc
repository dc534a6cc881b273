#include "worker/release/gaussian_gradient.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <string>
#include <utility>

#include "experiments/methods/methods.h"

namespace retort::worker::release {
namespace {

// The standard deviation that the sampler is given.
double ComputeNoiseStd(const GradientSettings& settings) {
  const auto batch = static_cast<double>(settings.batch);
  double noise_std = settings.sigma * settings.norm_bound;
  const NoiseForm form = FindNoiseForm(settings.reading);
  if (form == NoiseForm::by_row_over_batch) noise_std /= batch;
  if (form == NoiseForm::shared && settings.noise_by_row) noise_std *= std::sqrt(batch);
  return noise_std;
}

}  // namespace

GaussianGradient::GaussianGradient(const GradientSettings& settings, const Lattice& lattice, noise::NoiseKey key,
                                   noise::NoiseKernels* kernels)
    : settings_(settings), lattice_(lattice), key_(std::move(key)), kernels_(kernels != nullptr ? kernels : &host_) {}

Result<std::unique_ptr<GaussianGradient>> GaussianGradient::Create(const GradientSettings& settings,
                                                                   noise::NoiseKey key, noise::NoiseKernels* kernels) {
  if (FindNoiseForm(settings.reading) == NoiseForm::none) {
    return UsageError("Noise on gradients has no sound reading; use noisy votes or a private teacher.");
  }
  if (!(settings.norm_bound > 0) || !(settings.sigma > 0) || !(settings.floor >= 0) || !(settings.temperature > 0) ||
      settings.batch < 1 || settings.classes < 2) {
    return UsageError("norm_bound, sigma, temperature and batch must be positive, normalization_floor not negative.");
  }
  if (settings.top_k < 0 || settings.top_k > settings.classes)
    return UsageError("top_k must lie between 0 (all) and the number of classes.");
  if (settings.mask_over == MaskOver::batch && settings.normalization != Normalization::frobenius)
    return UsageError("A mask over the batch needs the norm of the batch: normalization must be \"frobenius\".");
  RETORT_ASSIGN_OR_RETURN(const Lattice lattice, Lattice::For(settings.norm_bound, ComputeNoiseStd(settings)));
  return std::unique_ptr<GaussianGradient>(new GaussianGradient(settings, lattice, std::move(key), kernels));
}

privacy::PrivacyEvent GaussianGradient::Describe(std::int64_t rows) const {
  privacy::PrivacyEvent event;
  const bool shared = FindNoiseForm(settings_.reading) == NoiseForm::shared;
  event.kind = privacy::MechanismKind::gaussian_gradient;
  event.unit = shared ? privacy::EventUnit::batch : privacy::EventUnit::row;
  event.count = shared ? 1 : rows;
  event.sensitivity = 2 * settings_.norm_bound;
  event.noise_std = ComputeNoiseStd(settings_);
  event.granularity = lattice_.step;
  event.rows_per_batch = settings_.batch;
  event.noise_coordinates = settings_.classes;
  event.release_coordinates = settings_.classes;
  event.frobenius = settings_.normalization == Normalization::frobenius;
  event.source = key_.seeded() ? privacy::NoiseSource::seeded : privacy::NoiseSource::secure_lattice;
  if (settings_.teacher_drives_generator) event.voids.emplace_back(privacy::kVoidGeneratorTouchedTeacher);
  if (!settings_.detach) event.voids.emplace_back(privacy::kVoidTeacherJacobian);
  return event;
}

// C g^ of every row.
at::Tensor GaussianGradient::Bounded(const Answers& answers) const {
  return ComputeBoundedGradient(settings_, answers.query_.student_logits, answers.logits_);
}

// `noise`: [1, classes] where the rows share it, else as `bounded`.
at::Tensor GaussianGradient::AsReading(const at::Tensor& bounded, const at::Tensor& noise) const {
  const auto batch = static_cast<double>(settings_.batch);
  switch (FindNoiseForm(settings_.reading)) {
    case NoiseForm::shared:
      return ((bounded.sum(0, true) + noise) / batch).expand_as(bounded).contiguous();
    case NoiseForm::by_row:
      return (bounded + noise) / batch;
    case NoiseForm::by_row_over_batch:
    case NoiseForm::none:
      break;
  }
  return bounded + noise;
}

Result<at::Tensor> GaussianGradient::MakeGraph(const Answers& answers) const {
  if (settings_.detach) return Mechanism::MakeGraph(answers);
  const at::AutoGradMode graph(true);
  const at::Tensor bounded = Bounded(answers);
  const at::Tensor values = AsReading(bounded, at::zeros({}, bounded.options()));
  return values - values.detach();
}

Status GaussianGradient::Check(const Answers& answers) const {
  const Query& query = answers.query_;
  if (!answers.logits_.defined() || !query.student_logits.defined()) {
    return Refused("Noise on gradients needs a single teacher's answers and the student's logits on the same rows.");
  }
  if (answers.rows() > settings_.batch) {
    return Refused("The release has " + std::to_string(answers.rows()) + " rows; its event speaks of " +
                   std::to_string(settings_.batch) + ".");
  }
  if (query.step <= last_step_) return Refused("Step " + std::to_string(query.step) + " drew its noise before.");
  return {};
}

// Noise by row that is not averaged, on rows of norm C: in one pass over them.
Result<at::Tensor> GaussianGradient::NormalisedRows(const Answers& answers, noise::StreamId stream) {
  const at::NoGradGuard no_grad;
  const at::Tensor gradient =
      ComputeOutputGradient(settings_, answers.query_.student_logits, answers.logits_).contiguous();
  at::Tensor values = at::empty_like(gradient);
  const double target = lattice_.ComputeTarget(settings_.classes);
  RETORT_RETURN_IF_ERROR(kernels_->NormaliseAndNoise(
      gradient, {lattice_.step, target, lattice_.longest, settings_.floor, lattice_.scale}, key_, stream, values));
  return values;
}

Result<Released> GaussianGradient::Release(const Answers& answers, Charge&& charge) {
  const Charge spent = std::move(charge);
  const privacy::PrivacyEvent event = Describe(answers.rows());
  RETORT_RETURN_IF_ERROR(spent.Covers(event));
  RETORT_RETURN_IF_ERROR(Check(answers));
  const Query& query = answers.query_;
  last_step_ = query.step;

  const noise::StreamId stream{static_cast<std::uint64_t>(query.step), noise::Purpose::gradient};
  const bool rows =
      FindNoiseForm(settings_.reading) == NoiseForm::by_row_over_batch && settings_.normalization == Normalization::row;
  if (rows && settings_.detach) {
    RETORT_ASSIGN_OR_RETURN(at::Tensor values, NormalisedRows(answers, stream));
    return Released{std::move(values)};
  }
  at::Tensor noise =
      at::empty({event.count, settings_.classes}, answers.logits_.options().dtype(at::kDouble).requires_grad(false));
  RETORT_RETURN_IF_ERROR(kernels_->FillLatticeNormal(key_, stream, lattice_.scale, noise));
  if (!settings_.detach) {
    const at::AutoGradMode graph(true);
    return Released{AsReading(Bounded(answers), lattice_.ToFloat(noise))};
  }
  const at::Tensor bounded = ComputeLatticeGradient(settings_, lattice_, query.student_logits, answers.logits_);
  return Released{lattice_.ToFloat(AsReading(bounded, noise))};
}

}  // namespace retort::worker::release
