#include "worker/methods/generator_source.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros_like.h>

#include <utility>

#include "worker/gang/summed_gradient.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

GeneratorSettings MakeGeneratorSettings(const TrialSpec& spec, const PixelScale& scale) {
  GeneratorSettings settings;
  settings.network = spec.generator.network;
  settings.latent = spec.generator.latent;
  settings.width = spec.generator.width;
  settings.scale = scale;
  return settings;
}

GeneratorSource::GeneratorSource(const TrialSpec& spec, std::unique_ptr<Generator> generator, Collective& gang)
    : spec_(spec),
      gang_(gang),
      generator_(std::move(generator)),
      adam_(generator_->parameters().flat().numel(), {.beta1 = 0.5}, generator_->parameters().flat().device()) {
  if (spec.generator.latent_lr <= 0) return;
  const at::Device device = generator_->parameters().flat().device();
  latents_ = NormalRows(spec.batch, spec.generator.latent, RngStream(spec.seed, Purpose::latents)).to(device);
  latents_adam_.emplace(latents_.numel(), AdamSettings{.beta1 = 0.5}, device);
}

Result<std::unique_ptr<GeneratorSource>> GeneratorSource::Create(const TrialSpec& spec, ImageShape image,
                                                                 Collective& gang, at::Device device,
                                                                 const PixelScale& scale) {
  const RngStream stream = RngStream(spec.seed, Purpose::parameters, 0, 1);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Generator> generator,
                          Generator::Create(image, MakeGeneratorSettings(spec, scale), stream, device));
  if (spec.optimization.initialisation == Initialisation::xavier) generator->parameters().RedrawXavier(stream);
  return std::unique_ptr<GeneratorSource>(new GeneratorSource(spec, std::move(generator), gang));
}

at::Tensor GeneratorSource::Drawn(const RngStream& stream, std::int64_t rows) const {
  const RowShare own = ComputeRowShare(rows, gang_);
  const at::Tensor latents = NormalRows(own.count, spec_.generator.latent, stream, own.first);
  return generator_->Forward(latents.to(generator_->parameters().flat().device()), &gang_);
}

at::Tensor GeneratorSource::Made(std::int64_t step, std::int64_t rows) {
  if (TrainsLatents()) {
    RETORT_CHECK(rows == latents_.size(0));
    asked_ = Own(latents_, ComputeRowShare(rows, gang_)).clone().requires_grad_(true);
    return generator_->Forward(asked_, &gang_);
  }
  return Drawn(RngStream(spec_.seed, Purpose::latents, static_cast<std::uint64_t>(step)), rows);
}

Status GeneratorSource::AskStudent(const at::Tensor& images, std::int64_t rows, const Network& student,
                                   const GeneratorTarget& target, const GeneratorWeights& weights, Seeds& seeds) {
  const NetworkOutput out = student.Forward(images);
  RETORT_ASSIGN_OR_RETURN(const GeneratorGradient gradient,
                          GeneratorLoss(out, target.y, weights, spec_.generator.form, rows, gang_));
  seeds.outputs.insert(seeds.outputs.end(), {out.logits, out.features});
  seeds.gradients.insert(seeds.gradients.end(), {gradient.logits, gradient.features});
  seeds.loss += gradient.loss;
  if (target.released.defined()) {
    // L_S = -mean_i <y_i, log p_i>, or the sum, differentiated by the y that the teacher's Jacobian reaches.
    const bool sums = spec_.generator.form == GeneratorForm::printed_sums;
    const double scale = -target.slope / (sums ? 1 : static_cast<double>(rows));
    seeds.outputs.push_back(target.released);
    seeds.gradients.push_back(at::log_softmax(out.logits.detach(), 1) * scale);
  }
  return {};
}

Status GeneratorSource::AskCritic(const at::Tensor& images, std::int64_t rows, const release::TeacherCritic& critic,
                                  Seeds& seeds) {
  RETORT_ASSIGN_OR_RETURN(const release::CriticGradient judged, critic.Judge(images, rows, gang_));
  seeds.outputs.push_back(images);
  seeds.gradients.push_back(judged.images);
  seeds.loss += judged.loss;
  return {};
}

Status GeneratorSource::Apply(const Seeds& seeds, const GeneratorRates& rates, const at::Tensor& latents) {
  ParameterArena& parameters = generator_->parameters();
  OwnLeaf own{latents};
  RETORT_RETURN_IF_ERROR(SumGradients(seeds.outputs, seeds.gradients, parameters, gang_, kBucketFloats,
                                      latents.defined() ? &own : nullptr));
  adam_.Step(parameters.flat(), parameters.gradient(), rates.parameters);
  if (!latents.defined()) return {};
  const at::Tensor gradient = own.gradient.defined() ? own.gradient : at::zeros_like(latents);
  RETORT_ASSIGN_OR_RETURN(const at::Tensor all, AllGatherRows(gradient.contiguous(), latents_.size(0), gang_));
  const at::NoGradGuard no_grad;
  at::Tensor flat = latents_.view(-1);
  latents_adam_->Step(flat, all.contiguous().view(-1), rates.latents);
  return {};
}

Result<double> GeneratorSource::Improve(std::int64_t step, const at::Tensor& images, std::int64_t rows,
                                        const Network& student, const GeneratorTarget& target,
                                        const GeneratorRates& rates, const release::TeacherCritic* critic) {
  RETORT_RETURN_IF_ERROR(CheckDetached(spec_, target));
  const GeneratorWeights weights = critic != nullptr
                                       ? GeneratorWeights{0, 0, 0}
                                       : GeneratorWeights{spec_.generator.one_hot, spec_.generator.information_entropy,
                                                          spec_.generator.activation_norm};
  double loss = 0;
  for (std::int64_t i = 0; i < spec_.generator.steps; ++i) {
    const at::Tensor now = i == 0 ? images : Made(step, rows);
    GeneratorTarget aim = target;
    if (i > 0) aim.released = at::Tensor();  // its graph belongs to the images of the query
    Seeds seeds;
    if (critic != nullptr) RETORT_RETURN_IF_ERROR(AskCritic(now, rows, *critic, seeds));
    if (critic == nullptr || aim.y.defined())
      RETORT_RETURN_IF_ERROR(AskStudent(now, rows, student, aim, weights, seeds));
    RETORT_RETURN_IF_ERROR(Apply(seeds, rates, asked_));
    loss = seeds.loss;
  }
  return loss;
}

Result<double> GeneratorSource::Pretrain(std::int64_t n, std::int64_t rows, const release::TeacherCritic& critic,
                                         double learning_rate) {
  const RngStream stream(spec_.seed, Purpose::generator_latents, static_cast<std::uint64_t>(n));
  Seeds seeds;
  RETORT_RETURN_IF_ERROR(AskCritic(Drawn(stream, rows), rows, critic, seeds));
  RETORT_RETURN_IF_ERROR(Apply(seeds, {learning_rate, 0}));
  return seeds.loss;
}

Status GeneratorSource::CheckDetached(const TrialSpec& spec, const GeneratorTarget& target) {
  const bool graph = target.released.defined() || (target.y.defined() && target.y.requires_grad());
  if (!spec.release.detach || !graph) return {};
  return Refused(
      "What the generator is to learn from has a graph to the teacher, and its ledger says that it has none.");
}

std::vector<storage::TensorBlob> GeneratorSource::Blobs(const std::string& prefix) const {
  return generator_->parameters().ToBlobs(prefix);
}

void GeneratorSource::Register(TrainState& state, const std::string& prefix) {
  state.Add(prefix + "parameters", generator_->parameters().flat());
  adam_.Register(state, prefix + "adam/");
  if (!TrainsLatents()) return;
  state.Add(prefix + "latents", latents_);
  latents_adam_->Register(state, prefix + "latents_adam/");
}

}  // namespace retort::worker
