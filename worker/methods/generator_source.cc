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
  settings.network = spec.generator.network == "fast" ? GeneratorNetwork::fast : GeneratorNetwork::dafl;
  settings.layers = spec.generator.layers;
  settings.latent = spec.generator.latent;
  settings.width = spec.generator.width;
  settings.scale = scale;
  return settings;
}

ConditionalGeneratorSettings MakeConditionalSettings(const TrialSpec& spec) {
  return {.code = spec.generator.latent, .width = spec.generator.width, .layers = spec.generator.layers};
}

GeneratorSource::GeneratorSource(const TrialSpec& spec, std::unique_ptr<Generator> generator, Collective& gang,
                                 StepGraphs* graphs)
    : spec_(spec),
      gang_(gang),
      generator_(std::move(generator)),
      adam_(generator_->parameters().flat().numel(), {.beta1 = 0.5}, generator_->parameters().flat().device()),
      making_(graphs, "images"),
      improving_(graphs, "generator"),
      pretraining_(graphs, "generator pretraining") {
  for (GraphRegion* region : {&making_, &improving_})
    if (!spec.release.detach) region->Decline("its images keep a graph to the teacher (detach = false)");
  if (spec.generator.latent_lr <= 0) return;
  const at::Device device = generator_->parameters().flat().device();
  latents_ = DrawNormalRows(spec.batch, spec.generator.latent, RngStream(spec.seed, Purpose::latents)).to(device);
  latents_adam_.emplace(latents_.numel(), AdamSettings{.beta1 = 0.5}, device);
}

Result<std::unique_ptr<GeneratorSource>> GeneratorSource::Create(const TrialSpec& spec, ImageShape image,
                                                                 Collective& gang, at::Device device,
                                                                 const PixelScale& scale, StepGraphs* graphs) {
  const RngStream stream = RngStream(spec.seed, Purpose::parameters, 0, 1);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Generator> generator,
                          Generator::Create(image, MakeGeneratorSettings(spec, scale), stream, device));
  if (spec.optimization.initialisation == Initialisation::xavier) generator->parameters().RedrawXavier(stream);
  return std::unique_ptr<GeneratorSource>(new GeneratorSource(spec, std::move(generator), gang, graphs));
}

at::Tensor GeneratorSource::DrawLatents(const RngStream& stream, std::int64_t rows) const {
  const RowShare own = ComputeRowShare(rows, gang_);
  return DrawNormalRows(own.count, spec_.generator.latent, stream, own.first);
}

const at::Tensor& GeneratorSource::FindLatents(std::int64_t step, std::int64_t rows) {
  if (TrainsLatents() || (drawn_step_ == step && drawn_.size(0) == ComputeRowShare(rows, gang_).count)) return drawn_;
  drawn_ = DrawLatents(RngStream(spec_.seed, Purpose::latents, static_cast<std::uint64_t>(step)), rows);
  drawn_step_ = step;
  return drawn_;
}

GeneratorSource::Made GeneratorSource::Make(const at::Tensor& latents, std::int64_t rows) const {
  if (!TrainsLatents())
    return {generator_->Forward(latents.to(generator_->parameters().flat().device()), &gang_), at::Tensor()};
  RETORT_CHECK(rows == latents_.size(0));
  const at::Tensor own = Own(latents_, ComputeRowShare(rows, gang_)).clone().requires_grad_(true);
  return {generator_->Forward(own, &gang_), own};
}

Result<at::Tensor> GeneratorSource::Images(std::int64_t step, std::int64_t rows) {
  const at::Tensor& latents = FindLatents(step, rows);
  if (!making_.Records()) {
    made_ = Make(latents, rows);
    return made_.images;
  }
  made_ = {};
  const auto make = [&](const Tensors& in) -> Result<Tensors> {
    const at::NoGradGuard no_grad;
    return Tensors{Make(in[0], rows).images};
  };
  RETORT_ASSIGN_OR_RETURN(const Tensors out, making_.Run({latents}, make, {static_cast<double>(rows)}));
  return out[0];
}

Status GeneratorSource::AskStudent(const at::Tensor& images, std::int64_t rows, const Network& student,
                                   const GeneratorTarget& target, const GeneratorWeights& weights, Seeds& seeds) {
  const NetworkOutput out = student.Forward(images);
  RETORT_ASSIGN_OR_RETURN(const GeneratorGradient gradient,
                          ComputeGeneratorLoss(out, target.y, weights, spec_.generator.form, rows, gang_));
  seeds.outputs.insert(seeds.outputs.end(), {out.logits, out.features});
  seeds.gradients.insert(seeds.gradients.end(), {gradient.logits, gradient.features});
  seeds.loss.Add(gradient.loss, 1);
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
  seeds.loss.Add(judged.loss, 1);
  return {};
}

Status GeneratorSource::Apply(const Seeds& seeds, const Rates& rates, const at::Tensor& latents) {
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

Result<at::Tensor> GeneratorSource::Descend(Made first, const at::Tensor& latents, std::int64_t rows,
                                            const Network& student, const GeneratorTarget& target, const Rates& rates,
                                            const release::TeacherCritic* critic) {
  const GeneratorWeights weights = critic != nullptr
                                       ? GeneratorWeights{0, 0, 0}
                                       : GeneratorWeights{spec_.generator.one_hot, spec_.generator.information_entropy,
                                                          spec_.generator.activation_norm};
  at::Tensor loss = LossSum().Total();
  for (std::int64_t i = 0; i < spec_.generator.steps; ++i) {
    const Made now = i == 0 && first.images.defined() ? std::move(first) : Make(latents, rows);
    GeneratorTarget aim = target;
    if (i > 0) aim.released = at::Tensor();  // its graph belongs to the images of the query
    Seeds seeds;
    if (critic != nullptr) RETORT_RETURN_IF_ERROR(AskCritic(now.images, rows, *critic, seeds));
    if (critic == nullptr || aim.y.defined())
      RETORT_RETURN_IF_ERROR(AskStudent(now.images, rows, student, aim, weights, seeds));
    RETORT_RETURN_IF_ERROR(Apply(seeds, rates, now.latents));
    loss = seeds.loss.Total();
  }
  return loss;
}

Result<at::Tensor> GeneratorSource::Improve(std::int64_t step, const at::Tensor& images, std::int64_t rows,
                                            const Network& student, const GeneratorTarget& target,
                                            const GeneratorRates& rates, const release::TeacherCritic* critic) {
  RETORT_RETURN_IF_ERROR(CheckDetached(spec_, target));
  const at::Tensor& latents = FindLatents(step, rows);
  const bool graph = images.requires_grad();
  RETORT_CHECK(!graph || made_.images.is_same(images));
  if (graph) improving_.Decline("its images are made with their graph");
  const auto improve = [&](const Tensors& in) -> Result<Tensors> {
    GeneratorTarget aim = target;
    aim.y = in[1];
    RETORT_ASSIGN_OR_RETURN(at::Tensor loss, Descend(graph ? std::exchange(made_, {}) : Made{}, in[0], rows, student,
                                                     aim, {in[2], in[3]}, critic));
    return Tensors{std::move(loss)};
  };
  RETORT_ASSIGN_OR_RETURN(const Tensors out,
                          improving_.Run({latents, target.y, MakeRate(rates.parameters), MakeRate(rates.latents)},
                                         improve, {static_cast<double>(rows)}));
  return out[0];
}

Result<at::Tensor> GeneratorSource::Pretrain(std::int64_t n, std::int64_t rows, const release::TeacherCritic& critic,
                                             double learning_rate) {
  const RngStream stream(spec_.seed, Purpose::generator_latents, static_cast<std::uint64_t>(n));
  const auto descend = [&](const Tensors& in) -> Result<Tensors> {
    Seeds seeds;
    const at::Tensor latents = in[0].to(generator_->parameters().flat().device());
    RETORT_RETURN_IF_ERROR(AskCritic(generator_->Forward(latents, &gang_), rows, critic, seeds));
    RETORT_RETURN_IF_ERROR(Apply(seeds, {in[1], in[1]}));
    return Tensors{seeds.loss.Total()};
  };
  RETORT_ASSIGN_OR_RETURN(const Tensors out, pretraining_.Run({DrawLatents(stream, rows), MakeRate(learning_rate)},
                                                              descend, {static_cast<double>(rows)}));
  return out[0];
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
