#include "worker/methods/source_generator.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>

#include <utility>
#include <vector>

#include "worker/gang/summed_gradient.h"
#include "worker/rng_streams.h"

namespace retort::worker {

SourceGenerator::SourceGenerator(const TrialSpec& spec, std::unique_ptr<Generator> generator, Collective& gang)
    : spec_(spec),
      gang_(gang),
      generator_(std::move(generator)),
      adam_(generator_->parameters().flat().numel(), {.beta1 = 0.5}, generator_->parameters().flat().device()) {}

Result<std::unique_ptr<SourceGenerator>> SourceGenerator::Create(const TrialSpec& spec, ImageShape image,
                                                                 Collective& gang, at::Device device) {
  const RngStream stream = RngStream(spec.seed, Purpose::parameters, 0, 1);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Generator> generator,
                          Generator::Create(image, spec.latent, spec.generator_width, stream, device));
  return std::unique_ptr<SourceGenerator>(new SourceGenerator(spec, std::move(generator), gang));
}

at::Tensor SourceGenerator::Images(std::int64_t step, std::int64_t rows) const {
  const RngStream stream(spec_.seed, Purpose::latents, static_cast<std::uint64_t>(step));
  const RowShare own = ShareOf(rows, gang_);
  const at::Tensor latents = NormalRows(own.count, spec_.latent, stream, own.first);
  return generator_->Forward(latents.to(generator_->parameters().flat().device()), &gang_);
}

Result<double> SourceGenerator::OneStep(const at::Tensor& images, std::int64_t rows, const Network& student,
                                        const GeneratorTarget& target, double learning_rate) {
  const NetworkOutput out = student.Forward(images);
  const bool dafl = spec_.reading != Reading::printed;
  RETORT_ASSIGN_OR_RETURN(
      const GeneratorGradient seeds,
      GeneratorLoss(out, target.y, {spec_.one_hot, spec_.information_entropy, spec_.activation_norm},
                    dafl ? GeneratorForm::dafl : GeneratorForm::printed, rows, gang_));
  std::vector<at::Tensor> outputs = {out.logits, out.features}, gradients = {seeds.logits, seeds.features};
  if (target.released.defined()) {
    // L_S = -mean_i <y_i, log p_i>, differentiated by the y that the teacher's Jacobian reaches.
    const double scale = -target.slope / static_cast<double>(rows);
    outputs.push_back(target.released);
    gradients.push_back(at::log_softmax(out.logits.detach(), 1) * scale);
  }
  ParameterArena& parameters = generator_->parameters();
  RETORT_RETURN_IF_ERROR(SumGradients(outputs, gradients, parameters, gang_));
  adam_.Step(parameters.flat(), parameters.gradient(), learning_rate);
  return seeds.loss;
}

Result<double> SourceGenerator::Improve(std::int64_t step, const at::Tensor& images, std::int64_t rows,
                                        const Network& student, const GeneratorTarget& target,
                                        double learning_rate) {
  RETORT_RETURN_IF_ERROR(CheckDetached(spec_, target));
  double loss = 0;
  for (std::int64_t i = 0; i < spec_.generator_steps; ++i) {
    const bool first = i == 0;
    GeneratorTarget now = target;
    if (!first) now.released = at::Tensor();   // its graph belongs to the images of the query
    RETORT_ASSIGN_OR_RETURN(
        loss, OneStep(first ? images : Images(step, rows), rows, student, now, learning_rate));
  }
  return loss;
}

Status SourceGenerator::CheckDetached(const TrialSpec& spec, const GeneratorTarget& target) {
  const bool graph = target.released.defined() || (target.y.defined() && target.y.requires_grad());
  if (!spec.detach || !graph) return {};
  return Refused("What the generator is to learn from has a graph to the teacher, and its ledger says that it has none.");
}

void SourceGenerator::Register(TrainState& state, const std::string& prefix) {
  state.Add(prefix + "parameters", generator_->parameters().flat());
  adam_.Register(state, prefix + "adam/");
}

}  // namespace retort::worker
