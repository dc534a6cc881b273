// The sound reading with a privately trained teacher and public images: the teacher labels all of them, which is
// post-processing of its training; the labels are spread over images that are alike where that is asked for; the
// student is fitted to them.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "experiments/methods/methods.h"
#include "worker/data/split_overlap.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/public_training.h"
#include "worker/methods/student_method.h"
#include "worker/release/mechanism.h"
#include "worker/training/evaluation.h"

namespace retort::worker {
namespace {

class PublicDistillation final : public Method {
 public:
  PublicDistillation(const MethodInputs& inputs, std::unique_ptr<release::TeacherModel> teacher,
                     std::unique_ptr<release::Mechanism> mechanism, std::unique_ptr<Network> student)
      : spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        teacher_(std::move(teacher)),
        mechanism_(std::move(mechanism)),
        training_(inputs, std::move(student)),
        rows_(std::min(spec_.batch, data_.public_split.size())),
        releases_((data_.public_split.size() + rows_ - 1) / rows_),
        answers_(at::zeros({data_.public_split.size(), data_.classes}, at::device(data_.device).dtype(at::kFloat))),
        gallery_(std::min(kMaxGalleryImages, rows_), {data_.shape.channels, data_.shape.height, data_.shape.width},
                 data_.classes, data_.device) {}

  std::int64_t steps() const override { return releases_ + spec_.labels.label_steps; }
  std::string phase(std::int64_t step) const override { return step < releases_ ? "release" : "fit"; }
  // No generator learns, and one teacher has no members.
  std::vector<std::string> Facts() const override {
    return SelectFacts({{privacy::kFactDetachedTarget, true}, {privacy::kFactStudentDrivesGenerator, true}});
  }
  void Register(TrainState& state) override {
    training_.Register(state);
    state.Add("answers", answers_);
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    if (step < releases_) return Query(step);
    const std::int64_t within = step - releases_;
    if (within == 0) RETORT_RETURN_IF_ERROR(SetTargetsFromAnswers());
    return training_.Fit(step, within, data_.public_split.size(), series);
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateOutcome(training_.learner().network(), data_.test, "student/");
    out.samples =
        gallery_.ToSamples("public pictures and a private teacher's answers; charged to the teacher", data_.scale);
    return out;
  }

 private:
  Status Query(std::int64_t step) {
    const std::int64_t first = step * rows_, rows = std::min(rows_, data_.public_split.size() - first);
    const at::Tensor images = data_.public_split.Range(first, rows);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                            tape_.Obtain(step, [&](release::ChargeBook* book) { return Release(step, images, book); }));
    answers_.narrow(0, first, rows).copy_(released);
    gallery_.Offer(step, images, released);
    return {};
  }

  // Each member of the gang asks about its share of the rows; gang rank 0 has all the answers.
  Result<at::Tensor> Release(std::int64_t step, const at::Tensor& images, release::ChargeBook* book) {
    const release::Query whole{.inputs = images, .student_logits = {}, .step = step};
    release::Query own = whole;
    own.inputs = Own(images, ComputeRowShare(images.size(0), gang_));
    RETORT_ASSIGN_OR_RETURN(const release::Answers answers,
                            release::Oracle::GatherRows(release::Oracle::Ask(*teacher_, own), whole, gang_));
    return PayAndRelease(*mechanism_, answers, images.size(0), book);
  }

  Status SetTargetsFromAnswers() {
    const at::NoGradGuard no_grad;
    if (spec_.labels.neighbours == 0) {
      training_.SetTargets(at::softmax(answers_ / spec_.distill.temperature, 1));
      return {};
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor spread,
                            training_.PropagateLabels(at::softmax(answers_ / spec_.distill.temperature, 1)));
    training_.SetTargets(spread);
    return {};
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<release::Mechanism> mechanism_;
  PublicTraining training_;
  std::int64_t rows_, releases_;
  at::Tensor answers_;  // f32 [public images, classes]: the teacher's logits
  SampleGallery gallery_;
};

Status CheckSpec(const MethodInputs& inputs) {
  if (inputs.data.public_split.size() == 0)
    return UsageError("A teacher that labels public pictures needs some: split.public is empty.");
  if (inputs.spec.labels.label_steps < 1) return UsageError("A student of labels needs label_steps >= 1.");
  return {};
}

}  // namespace

Result<std::unique_ptr<Method>> MakePublicDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  RETORT_RETURN_IF_ERROR(CheckSpec(inputs));
  RETORT_RETURN_IF_ERROR(RequireApart(data));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::TeacherModel> teacher,
                          LoadTeacher(*inputs.teacher, data, inputs.gang, inputs.graphs));
  if (teacher->members() > 1) return UsageError("An ensemble's sound answers are votes: set queries to their number.");
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::Mechanism> mechanism,
                          release::MakeMechanism(spec, data.classes, 1, release::MakeNoiseKey(spec), inputs.noise));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> student, DrawNetwork(inputs));
  return std::unique_ptr<Method>(
      std::make_unique<PublicDistillation>(inputs, std::move(teacher), std::move(mechanism), std::move(student)));
}

}  // namespace retort::worker
