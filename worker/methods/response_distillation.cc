// DP-DFD (Algorithm 1), and the label branches of DPSD (Algorithm 1) and FedDPSD (Algorithm 2, s = 0): generate, ask
// for randomised responses over the student's candidates, teach the student, improve the generator. An ensemble's
// members each answer for themselves, and their labels are averaged.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "experiments/base/status.h"
#include "worker/distill/response_targets.h"
#include "worker/distill/transfer_set.h"
#include "worker/methods/image_source.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/student_method.h"
#include "worker/optim/schedule.h"
#include "worker/release/answer_memory.h"
#include "worker/release/mechanism.h"
#include "worker/release/randomized_response.h"
#include "worker/release/teacher_critic.h"
#include "worker/tensors/train_state.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"

namespace retort::worker {

namespace {

// Remembers what was released for which query, so that a resumed attempt can restore the mechanism's memory.
class ReleasedRows {
 public:
  ReleasedRows(std::int64_t capacity, std::int64_t classes, at::ScalarType type);
  // inputs [rows, ...] as queried, values [rows, classes] as they were released; no more rows than the capacity in all.
  void Append(const at::Tensor& inputs, const at::Tensor& values);
  // Those appended, or loaded, since the last call: digests u8 [rows, 32] (release::QueryDigests) and values.
  [[nodiscard]] std::pair<at::Tensor, at::Tensor> TakeNew();
  void Register(TrainState& state, const std::string& prefix);

 private:
  at::Tensor digests_, values_;  // on the CPU
  std::int64_t rows_ = 0, taken_ = 0;
};

ReleasedRows::ReleasedRows(std::int64_t capacity, std::int64_t classes, at::ScalarType type)
    : digests_(at::empty({capacity, release::kDigestBytes}, at::kByte)),
      values_(at::empty({capacity, classes}, type)) {}

void ReleasedRows::Append(const at::Tensor& inputs, const at::Tensor& values) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = inputs.size(0);
  RETORT_CHECK(values.size(0) == rows && rows_ + rows <= digests_.size(0));
  digests_.narrow(0, rows_, rows).copy_(release::QueryDigests(inputs));
  values_.narrow(0, rows_, rows).copy_(values);
  rows_ += rows;
}

std::pair<at::Tensor, at::Tensor> ReleasedRows::TakeNew() {
  const std::int64_t first = taken_, count = rows_ - taken_;
  taken_ = rows_;
  return {digests_.narrow(0, first, count), values_.narrow(0, first, count)};
}

void ReleasedRows::Register(TrainState& state, const std::string& prefix) {
  state.AddRows(prefix + "digests", digests_, &rows_);
  state.AddRows(prefix + "values", values_, &rows_);
}

class ResponseDistillation final : public StudentMethod {
 public:
  ResponseDistillation(const MethodInputs& inputs, StudentParts parts,
                       std::unique_ptr<release::RandomizedResponse> mechanism)
      : StudentMethod(inputs, std::move(parts), std::min(kMaxGalleryImages, inputs.spec.batch)),
        mechanism_(std::move(mechanism)),
        transfer_(std::clamp<std::int64_t>(spec_.distill.replay, 1, spec_.steps), spec_.batch, data_.shape,
                  data_.classes, data_.device),
        released_(spec_.steps * spec_.batch, data_.classes, IsSoft(spec_) ? at::kFloat : at::kInt) {}

  std::int64_t steps() const override { return spec_.generator.pretrain_steps + spec_.steps; }
  std::string phase(std::int64_t step) const override {
    return step < spec_.generator.pretrain_steps ? "pretrain" : "distill";
  }
  // A critic is the raw teacher. Without one, Improve takes the student alone, and targets without a graph.
  std::vector<std::string> Facts() const override { return SelectStudentFacts(true, !critic_); }

  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    source_->Register(state, "generator/");
    transfer_.Register(state, "transfer/");
    released_.Register(state, "released/");
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    return step < spec_.generator.pretrain_steps ? PretrainGenerator(step, series)
                                                 : Distill(step, step - spec_.generator.pretrain_steps, series);
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateStudent();
    out.samples = gallery_.ToSamples(
        "synthetic queries and the labels released for them; charged as the trial's "
        "ledger says",
        data_.scale);
    return out;
  }

 private:
  static bool IsSoft(const TrialSpec& spec) {
    return release::MakeResponseSettings(spec, 2, 1).form == release::ResponseForm::soft;
  }

  // `step` of the trial, `stage` of the paper.
  Status Distill(std::int64_t step, std::int64_t stage, Series& series) {
    // This member's; the rest is whole batches.
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images, source_->Images(stage, spec_.batch));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor queried, AllGatherRows(images.detach(), spec_.batch, gang_));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor logits, AllGatherRows(StudentLogits(images.detach()), spec_.batch, gang_));
    const release::Query query{
        .inputs = queried, .student_logits = {}, .step = step, .candidates = ChooseCandidates(spec_, logits)};
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, tape_.Obtain(step, [&](release::ChargeBook* book) {
      return Release(query, images, book);
    }));
    released_.Append(queried, released);
    const std::int64_t members = teacher_->members();
    const at::Tensor labels = released.to(at::kFloat) / static_cast<double>(members);
    const at::Tensor targets = UsesLikelihood() ? AnnotateResponses(released, query.candidates, members) : labels;
    const double decay = HoldThenLinear(stage, spec_.steps, spec_.optimization.lr_hold, spec_.optimization.lr_end);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor student,
                            TeachStage(stage, queried, targets, spec_.optimization.lr * decay));
    const GeneratorTarget aim{.y = Own(labels, ComputeRowShare(spec_.batch, gang_)), .released = {}};
    RETORT_ASSIGN_OR_RETURN(const at::Tensor generator,
                            source_->Improve(stage, images, spec_.batch, learner_.network(), aim,
                                             source_->RatesAt(decay), Discriminator()));
    transfer_.Push(queried, targets);
    gallery_.Offer(stage, queried, labels);
    RETORT_RETURN_IF_ERROR(
        RecordLosses({{"train.student_loss", student}, {"train.generator_loss", generator}}, gang_, series));
    series.emplace_back("train.candidates", query.candidates.sum(1).to(at::kDouble).mean().item<double>());
    RecordPublicAccuracy(stage, series);
    return {};
  }

  const release::TeacherCritic* Discriminator() const {
    return spec_.generator.discriminator == retort::Discriminator::teacher ? &*critic_ : nullptr;
  }

  // Each member of the gang asks the teacher about its own rows, or its share of an ensemble about all of them; gang
  // rank 0 has the answers and releases.
  Result<at::Tensor> Release(const release::Query& whole, const at::Tensor& images, release::ChargeBook* book) {
    RETORT_ASSIGN_OR_RETURN(const release::Answers answers, Ask(whole, images));
    if (book == nullptr) return at::Tensor();
    const auto [digests, values] = released_.TakeNew();  // earlier attempts' too
    mechanism_->RememberDigests(digests, values);
    return PayAndRelease(*mechanism_, answers, spec_.batch, book);
  }

  Result<release::Answers> Ask(const release::Query& whole, const at::Tensor& images) {
    const std::int64_t members = teacher_->members();
    if (members > 1) return release::Oracle::GatherMembers(release::Oracle::Ask(*teacher_, whole), members, gang_);
    release::Query own = whole;
    own.inputs = images;
    own.candidates = Own(whole.candidates, ComputeRowShare(spec_.batch, gang_));
    return release::Oracle::GatherRows(release::Oracle::Ask(*teacher_, own), whole, gang_);
  }

  [[nodiscard]] bool UsesLikelihood() const { return spec_.labels.response_loss == ResponseLoss::likelihood; }

  // This stage's rows, and those of earlier stages that the transfer set keeps.
  Result<at::Tensor> TeachStage(std::int64_t stage, const at::Tensor& images, const at::Tensor& targets, double rate) {
    const StudentBatches batches(spec_, stage, {images, targets}, transfer_.stored() > 0 ? &transfer_ : nullptr);
    const auto weigh = [epsilon0 = spec_.release.epsilon0](const at::Tensor& log_p, const at::Tensor& annotation) {
      return ComputeExpectedClasses(log_p, annotation, epsilon0);
    };
    return TeachStudent(batches, rate, 1, UsesLikelihood() ? Expectation(weigh) : Expectation());
  }

  std::unique_ptr<release::RandomizedResponse> mechanism_;
  TransferSet transfer_;  // earlier stages
  ReleasedRows released_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeResponseDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  if (spec.source != QuerySource::generator && spec.source != QuerySource::procedural)
    return UsageError(
        "A student by randomised response queries images that are made: source must be \"generator\" or "
        "\"procedural\".");
  StudentParts parts;
  RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, data, inputs.gang, inputs.graphs));
  const release::ResponseSettings settings =
      release::MakeResponseSettings(spec, data.classes, parts.teacher->members());
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::RandomizedResponse> mechanism,
                          release::RandomizedResponse::Create(settings, release::MakeNoiseKey(spec)));
  if (settings.generator_touched_teacher) {
    RETORT_ASSIGN_OR_RETURN(parts.critic, MakeCritic(inputs, *parts.teacher));
  }
  RETORT_ASSIGN_OR_RETURN(parts.student, DrawNetwork(inputs));
  RETORT_ASSIGN_OR_RETURN(parts.source, MakeImageSource(spec, data, inputs.gang, inputs.graphs));
  return std::unique_ptr<Method>(
      std::make_unique<ResponseDistillation>(inputs, std::move(parts), std::move(mechanism)));
}

}  // namespace retort::worker
