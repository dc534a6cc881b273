// DENSE (Zhang et al. 2022), the reference without privacy: in each round a fresh generator is trained against the raw
// mean of the clients' networks and against the student; its best batch joins a pool, over which the student then
// passes once to learn that mean, raw too. Every claim is unbounded.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "experiments/methods/methods.h"
#include "worker/distill/transfer_set.h"
#include "worker/methods/generator_source.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/pool_schedule.h"
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

// Of the normal draws that each round's generator begins with, as the authors' code has it.
constexpr double kInitialDeviation = 0.02;

class DenseDistillation final : public StudentMethod {
 public:
  DenseDistillation(const MethodInputs& inputs, StudentParts parts, std::unique_ptr<Generator> generator)
      : StudentMethod(inputs, std::move(parts), std::min(kMaxGalleryImages, inputs.spec.batch)),
        schedule_(spec_),
        mechanism_(data_.classes, spec_.batch),
        generator_(std::move(generator)),
        pool_(std::max<std::int64_t>(spec_.distill.replay, 1), spec_.batch, data_.shape, data_.classes, data_.device) {}

  std::int64_t steps() const override { return schedule_.steps(); }
  std::string phase(std::int64_t step) const override {
    return "round " + std::to_string(schedule_.At(step).round + 1);
  }
  std::vector<std::string> Facts() const override { return SelectStudentFacts(false, false); }
  // Generators last for a round's first step.
  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    pool_.Register(state, "transfer/");
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    const PoolStep at = schedule_.At(step);
    if (at.first == 0) RETORT_RETURN_IF_ERROR(BeginRound(step, at.round, series));
    RETORT_CHECK(pool_.stored() == at.of);
    const auto [images, targets] = pool_.Take(FindOrder(at).narrow(0, at.first, at.rows));
    const double rate =
        spec_.optimization.lr * HoldThenLinear(step, steps(), spec_.optimization.lr_hold, spec_.optimization.lr_end);
    const RngStream dropout(spec_.seed, Purpose::dropout, static_cast<std::uint64_t>(step));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor loss, learner_.Teach(OwnMinibatch(images, targets, gang_), rate, dropout,
                                                                  spec_.distill.temperature));
    return RecordLoss(loss, "train.student_loss", gang_, series);
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateStudent();
    out.samples =
        gallery_.ToSamples("synthetic images and the clients' raw mean logits: nothing is protected", data_.scale);
    return out;
  }

 private:
  // A batch and what the clients say of it join the pool.
  Status BeginRound(std::int64_t step, std::int64_t round, Series& series) {
    double synthesis = 0;
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images, Synthesise(round, synthesis));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                            tape_.Obtain(step, [&](release::ChargeBook* book) { return Release(step, images, book); }));
    pool_.Push(images, at::softmax(released / spec_.distill.temperature, 1));
    gallery_.Offer(step, images, released);
    series.emplace_back("train.generator_loss", synthesis);
    return {};
  }

  // The rows of the pool as the student meets them in a round: i64 [rows of the pool].
  const at::Tensor& FindOrder(const PoolStep& at) {
    if (ordered_round_ == at.round) return order_;
    const RngStream stream(spec_.seed, Purpose::replay, static_cast<std::uint64_t>(at.round));
    order_ = at::tensor(DrawPermutation(at.of, stream), at::kLong);
    ordered_round_ = at.round;
    return order_;
  }

  // i64 [batch]: the classes that the rows of a round are to be of.
  at::Tensor DrawLabels(std::int64_t round) const {
    const RngStream stream(spec_.seed, Purpose::queries, static_cast<std::uint64_t>(round));
    const at::Tensor labels = at::empty({spec_.batch}, at::kLong);
    auto* label = labels.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < spec_.batch; ++i)
      label[i] = stream.Below(static_cast<std::uint64_t>(i), data_.classes);
    return labels.to(data_.device);
  }

  // What the generator made of some latents, and what the clients and the student say of it.
  struct Batch {
    at::Tensor leaf, images;  // the latents, and what their gradient passes through
    release::CriticGradient judged;
  };

  Result<Batch> MakeBatch(const at::Tensor& latents, const at::Tensor& labels) {
    Batch made;
    made.leaf = latents.detach().requires_grad_(true);
    made.images = generator_->Forward(made.leaf);
    RETORT_ASSIGN_OR_RETURN(made.judged,
                            critic_->Judge(made.images, spec_.batch, gang_, {labels, &learner_.network()}));
    return made;
  }

  // A step of the generator and of the latents towards a better batch than `made`.
  void Improve(const Batch& made, at::Tensor& latents, Adam& generator_adam, Adam& latents_adam) {
    ParameterArena& parameters = generator_->parameters();
    std::vector<at::Tensor> inputs = parameters.leaves();
    inputs.push_back(made.leaf);
    std::vector<at::Tensor> gradients = ComputeVectorJacobian({made.images}, {made.judged.images}, inputs);
    const at::NoGradGuard no_grad;
    latents_adam.Step(latents, gradients.back().contiguous(), spec_.generator.lr);
    gradients.pop_back();
    parameters.Gather(gradients);
    generator_adam.Step(parameters.flat(), parameters.gradient(), spec_.generator.lr);
  }

  // The best batch, by its loss, that a fresh generator and its latents make on their way: generator.steps of them, and
  // at least the first.
  Result<at::Tensor> Synthesise(std::int64_t round, double& least) {
    const auto number = static_cast<std::uint64_t>(round);
    ParameterArena& parameters = generator_->parameters();
    parameters.Redraw(RngStream(spec_.seed, Purpose::parameters, number, 1));
    at::Tensor latents =
        DrawNormalRows(spec_.batch, spec_.generator.latent, RngStream(spec_.seed, Purpose::latents, number))
            .to(data_.device);
    const at::Tensor labels = DrawLabels(round);
    Adam generator_adam(parameters.flat().numel(), {.beta1 = 0.5}, data_.device),
        latents_adam(latents.numel(), {.beta1 = 0.5}, data_.device);
    RETORT_ASSIGN_OR_RETURN(Batch made, MakeBatch(latents, labels));
    at::Tensor best = made.images.detach();
    least = made.judged.loss.item<double>();
    for (std::int64_t i = 1; i < spec_.generator.steps; ++i) {
      Improve(made, latents, generator_adam, latents_adam);
      RETORT_ASSIGN_OR_RETURN(made, MakeBatch(latents, labels));
      const double loss = made.judged.loss.item<double>();
      if (!(loss < least)) continue;
      best = made.images.detach();
      least = loss;
    }
    return best;
  }

  Result<at::Tensor> Release(std::int64_t step, const at::Tensor& images, release::ChargeBook* book) {
    const release::Answers answers =
        release::Oracle::Ask(*teacher_, {.inputs = images, .student_logits = {}, .step = step, .mean = true});
    return PayAndRelease(mechanism_, answers, spec_.batch, book);
  }

  PoolSchedule schedule_;
  release::Noiseless mechanism_;
  std::unique_ptr<Generator> generator_;
  TransferSet pool_;
  at::Tensor order_;  // of round ordered_round_
  std::int64_t ordered_round_ = -1;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeDenseDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  if (inputs.gang.size() > 1) return UsageError("dense runs on one device: remove devices.");
  if (CountPoolSteps(spec) > kMaxPoolSteps) return UsageError("dense passes over its pool too often: lower steps.");
  StudentParts parts;
  RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, data, inputs.gang, inputs.graphs));
  RETORT_ASSIGN_OR_RETURN(parts.critic, MakeCritic(inputs, *parts.teacher));
  RETORT_ASSIGN_OR_RETURN(parts.student, DrawNetwork(inputs));
  GeneratorSettings settings = MakeGeneratorSettings(spec, data.scale);
  settings.deviation = kInitialDeviation;
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<Generator> generator,
      Generator::Create(data.shape, settings, RngStream(spec.seed, Purpose::parameters, 0, 1), data.device));
  return std::unique_ptr<Method>(std::make_unique<DenseDistillation>(inputs, std::move(parts), std::move(generator)));
}

}  // namespace retort::worker
