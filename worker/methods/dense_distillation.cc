// DENSE (Zhang et al. 2022), the reference without privacy: in each round a fresh generator is trained against the raw
// mean of the clients' networks and against the student; its best batch joins a pool on which the student learns that
// mean, raw too. Every claim is unbounded.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "worker/distill/transfer_set.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/student_method.h"
#include "worker/models/generators.h"
#include "worker/optim/schedule.h"
#include "worker/release/mechanism.h"
#include "worker/release/teacher_critic.h"
#include "worker/tensors/autograd.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"

namespace retort::worker {
namespace {

class DenseDistillation final : public StudentMethod {
 public:
  DenseDistillation(const MethodInputs& inputs, StudentParts parts, std::unique_ptr<Generator> generator)
      : StudentMethod(inputs, std::move(parts), std::min(kMaxGalleryImages, inputs.spec.batch)),
        mechanism_(data_.classes, spec_.batch),
        generator_(std::move(generator)) {
    if (spec_.distill.replay > 0)
      pool_.emplace(spec_.distill.replay, spec_.batch, data_.shape, data_.classes, data_.device);
  }

  std::int64_t steps() const override { return spec_.steps; }
  std::string phase(std::int64_t) const override { return "distill"; }
  std::vector<std::string> Facts() const override { return SelectStudentFacts(false, false); }
  // Generators last for a round.
  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    if (pool_) pool_->Register(state, "transfer/");
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    double synthesis = 0;
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images, Synthesise(step, synthesis));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                            tape_.Obtain(step, [&](release::ChargeBook* book) { return Release(step, images, book); }));
    const at::Tensor targets = at::softmax(released / spec_.distill.temperature, 1);
    const bool earlier = pool_ && pool_->stored() > 0;
    const StudentBatches batches(spec_, step, {images, targets}, earlier ? &*pool_ : nullptr);
    const double rate =
        spec_.optimization.lr * HoldThenLinear(step, steps(), spec_.optimization.lr_hold, spec_.optimization.lr_end);
    RETORT_ASSIGN_OR_RETURN(const double loss, TeachStudent(batches, rate, spec_.distill.temperature));
    if (pool_) pool_->Push(images, targets);
    gallery_.Offer(step, images, released);
    series.emplace_back("train.student_loss", loss);
    series.emplace_back("train.generator_loss", synthesis);
    return {};
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateStudent();
    out.samples =
        gallery_.ToSamples("synthetic images and the clients' raw mean logits: nothing is protected", data_.scale);
    return out;
  }

 private:
  // The best batch, by its loss, that a fresh generator and its latents make on their way: row i is to be of class
  // i mod classes.
  Result<at::Tensor> Synthesise(std::int64_t step, double& least) {
    const auto round = static_cast<std::uint64_t>(step);
    ParameterArena& parameters = generator_->parameters();
    parameters.Redraw(RngStream(spec_.seed, Purpose::parameters, round, 1));
    at::Tensor latents = NormalRows(spec_.batch, spec_.generator.latent, RngStream(spec_.seed, Purpose::latents, round))
                             .to(data_.device);
    const at::Tensor labels =
        at::arange(spec_.batch, at::device(data_.device).dtype(at::kLong)).remainder(data_.classes);
    Adam adam(parameters.flat().numel(), {.beta1 = 0.5}, data_.device),
        latents_adam(latents.numel(), {.beta1 = 0.5}, data_.device);
    at::Tensor best;
    for (std::int64_t i = 0; i < std::max<std::int64_t>(spec_.generator.steps, 1); ++i) {
      const at::Tensor leaf = latents.detach().requires_grad_(true);
      const at::Tensor images = generator_->Forward(leaf);
      RETORT_ASSIGN_OR_RETURN(const release::CriticGradient judged,
                              critic_->Judge(images, spec_.batch, gang_, {labels, &learner_.network()}));
      if (!best.defined() || judged.loss < least) {
        best = images.detach().clone();
        least = judged.loss;
      }
      if (spec_.generator.steps == 0) break;
      std::vector<at::Tensor> inputs = parameters.leaves();
      inputs.push_back(leaf);
      std::vector<at::Tensor> gradients = VectorJacobian({images}, {judged.images}, inputs);
      const at::NoGradGuard no_grad;
      latents_adam.Step(latents, gradients.back().contiguous(), spec_.generator.lr);
      gradients.pop_back();
      parameters.Gather(gradients);
      adam.Step(parameters.flat(), parameters.gradient(), spec_.generator.lr);
    }
    return best;
  }

  Result<at::Tensor> Release(std::int64_t step, const at::Tensor& images, release::ChargeBook* book) {
    const release::Answers answers =
        release::Oracle::Ask(*teacher_, {.inputs = images, .student_logits = {}, .step = step, .mean = true});
    return PayAndRelease(mechanism_, answers, spec_.batch, book);
  }

  release::Noiseless mechanism_;
  std::unique_ptr<Generator> generator_;
  std::optional<TransferSet> pool_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeDenseDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  if (inputs.gang.size() > 1) return UsageError("dense runs on one device: remove devices.");
  StudentParts parts;
  RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, data, inputs.gang));
  RETORT_ASSIGN_OR_RETURN(parts.critic, MakeCritic(inputs, *parts.teacher));
  RETORT_ASSIGN_OR_RETURN(parts.student, DrawNetwork(inputs));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Generator> generator,
                          Generator::Create(data.shape, spec.generator.latent, spec.generator.width,
                                            RngStream(spec.seed, Purpose::parameters, 0, 1), data.device));
  return std::unique_ptr<Method>(std::make_unique<DenseDistillation>(inputs, std::move(parts), std::move(generator)));
}

}  // namespace retort::worker
