// DPDFD, sound by an ensemble (R2), on a generator's images: each step generates a batch, asks the ensemble about
// its first rows, teaches the student everything asked so far, and improves the generator through the student.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "experiments/spec/methods.h"
#include "worker/distill/candidates.h"
#include "worker/distill/transfer_set.h"
#include "worker/distill/vote_targets.h"
#include "worker/evaluation.h"
#include "worker/methods/learner.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/sample_gallery.h"
#include "worker/methods/image_source.h"
#include "worker/methods/structure_facts.h"
#include "worker/models/model_registry.h"
#include "worker/optim/schedule.h"
#include "worker/release/mechanism.h"
#include "worker/release/noisy_votes.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kSamples = 64;
// Share of the members taken to be right, where a method must say before it has seen a histogram.
constexpr double kMemberAccuracy = 0.6;

// The sound reading of a method of randomised responses.
bool AnswersOverCandidates(const TrialSpec& spec) {
  const MethodRule* method = FindMethod(spec.method);
  return (method != nullptr && method->kind == TrialKind::response_student) || spec.branch == Branch::label;
}

struct Parts {
  std::unique_ptr<release::TeacherModel> teacher;
  std::unique_ptr<release::NoisyVotes> mechanism;
  std::unique_ptr<Network> student;
  std::unique_ptr<ImageSource> source;
};

class VoteGeneration final : public Method {
 public:
  VoteGeneration(const MethodInputs& inputs, Parts parts)
      : spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        teacher_(std::move(parts.teacher)),
        mechanism_(std::move(parts.mechanism)),
        source_(std::move(parts.source)),
        shards_disjoint_(ShardsAreDisjoint(*inputs.teacher, inputs.data)),
        members_apart_(MembersAreApart(*inputs.teacher)),
        learner_(std::move(parts.student), inputs.gang, SettingsOf(inputs.spec)),
        rows_(std::min(spec_.batch, (spec_.queries + spec_.steps - 1) / spec_.steps)),
        transfer_((spec_.queries + rows_ - 1) / rows_, rows_, data_.shape, data_.classes, data_.device),
        histograms_(
            at::zeros({transfer_.capacity(), data_.classes}, at::device(data_.device).dtype(at::kInt))),
        gallery_(std::min(kSamples, rows_), {data_.shape.channels, data_.shape.height, data_.shape.width},
                 data_.classes, data_.device) {}

  std::int64_t steps() const override { return spec_.steps; }
  std::string phase(std::int64_t) const override { return "distill"; }
  // Improve takes a network and no teacher, and here no targets at all.
  std::vector<std::string> Facts() const override {
    return FactsThatHold({{privacy::kFactDetachedTarget, spec_.detach},
                          {privacy::kFactStudentDrivesGenerator, true},
                          {privacy::kFactDisjointShards, shards_disjoint_},
                          {privacy::kFactMembersApart, members_apart_}});
  }
  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    source_->Register(state, "generator/");
    transfer_.Register(state, "transfer/");
    state.AddRows("votes/histograms", histograms_, &asked_);
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    const std::int64_t batch = std::max(spec_.batch, rows_);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images, source_->Images(step, batch));
    if (const std::int64_t left = spec_.queries - step * rows_; left > 0) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor all, AllGatherRows(images.detach(), batch, gang_));
      RETORT_RETURN_IF_ERROR(Query(step, all.narrow(0, 0, std::min(rows_, left))));
    }
    const double decay = HoldThenLinear(step, steps(), spec_.lr_hold, spec_.lr_end);
    const auto at_step = static_cast<std::uint64_t>(step);
    const RngStream replay(spec_.seed, Purpose::replay, at_step), dropout(spec_.seed, Purpose::dropout, at_step);
    std::vector<double> losses = {0, 0};
    for (std::int64_t i = 0; i < spec_.student_steps; ++i) {
      const auto lane = static_cast<std::uint64_t>(i);
      const auto [x, y] = spec_.balance ? transfer_.SampleEvenly(spec_.student_batch, replay.Lane(lane))
                                        : transfer_.Sample(spec_.student_batch, replay.Lane(lane));
      RETORT_ASSIGN_OR_RETURN(losses[0],
                              learner_.Teach(OwnPart(x, y, gang_), spec_.lr * decay, dropout.Lane(lane)));
    }
    RETORT_ASSIGN_OR_RETURN(losses[1], source_->Improve(step, images, batch, learner_.network(), {},
                                                        source_->RatesAt(decay)));
    RETORT_RETURN_IF_ERROR(SumOverGang(losses, gang_));
    series.emplace_back("train.student_loss", losses[0]);
    series.emplace_back("train.generator_loss", losses[1]);
    return {};
  }

  Result<Outcome> Finish() override {
    Outcome out;
    out.evaluation = Evaluate(learner_.network(), data_.test);
    out.metrics = TestMetrics(*out.evaluation);
    out.parameters = learner_.network().StateBlobs("student/");
    for (auto& blob : source_->Blobs("generator/")) out.parameters.push_back(std::move(blob));
    out.samples = gallery_.ToSamples("synthetic queries and their noisy votes; charged as the trial's ledger says",
                                     data_.scale);
    return out;
  }

 private:
  Status Query(std::int64_t step, const at::Tensor& images) {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, tape_.Obtain(step, [&](release::ChargeBook* book) {
      return Release(step, images, book);
    }));
    histograms_.narrow(0, asked_, images.size(0)).copy_(released);
    asked_ += images.size(0);
    transfer_.Push(images, TargetsOf(images, released));
    gallery_.Offer(step, images, released.to(at::kFloat));
    return {};
  }

  // Of methods that answer over candidates, the candidate with the most votes stands for the teacher's class.
  at::Tensor TargetsOf(const at::Tensor& images, const at::Tensor& released) const {
    if (spec_.vote_label == VoteLabel::argmax) {
      const at::NoGradGuard no_grad;
      return FirstVotes(released, AnswersOverCandidates(spec_)
                                      ? CandidatesOf(spec_, learner_.network().Forward(images).logits)
                                      : at::Tensor());
    }
    const auto classes = static_cast<double>(data_.classes);
    const double gap = static_cast<double>(teacher_->members()) *
                       (kMemberAccuracy - (1 - kMemberAccuracy) / (classes - 1));
    return at::softmax(VoteEvidence(released, gap, spec_.vote_noise, spec_.grain), 1);
  }

  // Every member's networks vote; gang rank 0 adds the noise to the sum.
  Result<at::Tensor> Release(std::int64_t step, const at::Tensor& images, release::ChargeBook* book) {
    RETORT_ASSIGN_OR_RETURN(
        const release::Answers answers,
        release::Oracle::SumVotes(
            release::Oracle::Ask(*teacher_, {images, at::Tensor(), step, spec_.grain}), gang_));
    if (book == nullptr) return at::Tensor();
    Recall();
    RETORT_ASSIGN_OR_RETURN(release::Charge charge,
                            book->Take(mechanism_->Describe(images.size(0)), mechanism_->DrawsFor(answers)));
    RETORT_ASSIGN_OR_RETURN(const release::Released released, mechanism_->Release(answers, std::move(charge)));
    return released.values;
  }

  // What earlier attempts released answers equal images here, too.
  void Recall() {
    mechanism_->Remember(transfer_.images().narrow(0, recalled_, asked_ - recalled_),
                         histograms_.narrow(0, recalled_, asked_ - recalled_));
    recalled_ = asked_;
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseTape& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<release::NoisyVotes> mechanism_;
  std::unique_ptr<ImageSource> source_;
  bool shards_disjoint_, members_apart_;
  Learner learner_;
  std::int64_t rows_;      // asked in each step while queries are left; the last may ask fewer
  TransferSet transfer_;   // everything asked
  std::int64_t asked_ = 0, recalled_ = 0;  // rows of it; those that the mechanism remembers
  at::Tensor histograms_;                  // i32 [rows of it, classes]: released
  SampleGallery gallery_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeVoteGeneration(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (KindOf(spec) != TrialKind::vote_student)
    return UsageError("Method \"" + spec.method + "\" takes noisy votes in the reading \"sound\" alone.");
  if (spec.queries < 1) return UsageError("Votes need queries >= 1.");
  if ((spec.queries + spec.steps - 1) / spec.steps > spec.batch)
    return UsageError("Votes on generated images need batch times steps of at least queries.");
  Parts parts;
  RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, inputs.data, inputs.gang));
  RETORT_ASSIGN_OR_RETURN(parts.mechanism,
                          release::NoisyVotes::Create(release::VotesOf(spec, inputs.data.classes),
                                                      release::KeyFor(spec)));
  RETORT_ASSIGN_OR_RETURN(parts.student, MakeNetwork(spec.network, inputs.data.shape, inputs.data.classes,
                                                     RngStream(spec.seed, Purpose::parameters), inputs.data.device));
  RETORT_ASSIGN_OR_RETURN(parts.source, MakeImageSource(spec, inputs.data, inputs.gang));
  return std::unique_ptr<Method>(std::make_unique<VoteGeneration>(inputs, std::move(parts)));
}

}  // namespace retort::worker
