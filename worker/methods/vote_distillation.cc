// DPDFD, sound by an ensemble (R2): the student learns from noisy votes, on images that are there before the first
// answer or on those that a generator makes between them.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/methods/methods.h"
#include "experiments/privacy/planned_events.h"
#include "worker/data/split_overlap.h"
#include "worker/distill/response_targets.h"
#include "worker/distill/transfer_set.h"
#include "worker/distill/vote_targets.h"
#include "worker/methods/image_source.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/methods/public_training.h"
#include "worker/methods/student_method.h"
#include "worker/optim/schedule.h"
#include "worker/release/confident_votes.h"
#include "worker/release/consensus_test.h"
#include "worker/release/mechanism.h"
#include "worker/release/noisy_votes.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"

namespace retort::worker {
namespace {

// On public queries or on images that a procedure draws: releases noisy votes, spreads them over images that are
// alike where that is asked for, fits a student to them, relabels every public image by student and votes together, and
// fits once more. PATE's aggregator (Papernot et al. 2018, GNMax) is the same with the votes' first class for a label,
// and one fit; with a threshold (Confident-GNMax) queries that are not answered have no label.
class VoteDistillation final : public Method {
 public:
  // `asked`: owns inputs.data, whose public split are the images that may be asked about.
  VoteDistillation(const MethodInputs& inputs, std::unique_ptr<const Dataset> asked,
                   std::unique_ptr<release::TeacherModel> teacher, std::unique_ptr<release::NoisyVotes> mechanism,
                   std::unique_ptr<release::ConfidentVotes> confident, std::unique_ptr<release::ConsensusTest> test,
                   std::unique_ptr<Network> student)
      : spec_(inputs.spec),
        asked_(std::move(asked)),
        data_(*asked_),
        tape_(inputs.tape),
        gang_(inputs.gang),
        teacher_(std::move(teacher)),
        mechanism_(std::move(mechanism)),
        confident_(std::move(confident)),
        test_(std::move(test)),
        shards_disjoint_(AreShardsDisjoint(*inputs.teacher, inputs.data)),
        members_independent_(AreMembersIndependent(*inputs.teacher)),
        training_(inputs, std::move(student)),
        rows_(std::min(spec_.batch, spec_.queries)),
        releases_((spec_.queries + rows_ - 1) / rows_),
        first_query_(test_ == nullptr ? 0 : 1),
        histograms_(at::zeros({spec_.queries, data_.classes}, at::device(data_.device).dtype(at::kInt))),
        gallery_(std::min(kMaxGalleryImages, spec_.queries),
                 {data_.shape.channels, data_.shape.height, data_.shape.width}, data_.classes, data_.device) {}

  std::int64_t steps() const override {
    return first_query_ + releases_ + (spec_.labels.refit ? 2 : 1) * spec_.labels.label_steps;
  }
  std::string phase(std::int64_t step) const override {
    if (step < first_query_) return "test";
    const std::int64_t query = step - first_query_;
    if (query < releases_) return "release";
    return query < releases_ + spec_.labels.label_steps ? "fit" : "refit";
  }
  // No generator learns.
  std::vector<std::string> Facts() const override {
    return SelectFacts({{privacy::kFactDetachedTarget, true},
                        {privacy::kFactStudentDrivesGenerator, true},
                        {privacy::kFactDisjointShards, shards_disjoint_},
                        {privacy::kFactIndependentMembers, members_independent_}});
  }
  void Register(TrainState& state) override {
    training_.Register(state);
    state.Add("votes/histograms", histograms_);
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    if (step < first_query_) return Test(step);
    if (step < first_query_ + releases_) return Query(step);
    const std::int64_t fit = step - first_query_ - releases_, within = fit % spec_.labels.label_steps;
    if (fit == 0) RETORT_RETURN_IF_ERROR(SetTargetsFromVotes(series));
    if (fit == spec_.labels.label_steps) SetTargetsFromStudentAndVotes();
    const bool asked_alone = fit < spec_.labels.label_steps && spec_.labels.neighbours == 0 && !drawn();
    return training_.Fit(step, within, asked_alone ? spec_.queries : data_.public_split.size(), series);
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateOutcome(training_.learner().network(), data_.test, "student/");
    out.samples =
        gallery_.ToSamples((drawn() ? "drawn" : "public") +
                               std::string(" queries and their noisy votes; charged as the trial's ledger says"),
                           data_.scale);
    return out;
  }

 private:
  Status Query(std::int64_t step) {
    const std::int64_t first = (step - first_query_) * rows_, rows = std::min(rows_, spec_.queries - first);
    const at::Tensor images = data_.public_split.Range(first, rows);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                            tape_.Obtain(step, [&](release::ChargeBook* book) { return Release(step, images, book); }));
    histograms_.narrow(0, first, rows).copy_(released);
    gallery_.Offer(step, images, released.to(at::kFloat));
    return {};
  }

  // Asks all queries, and lets the votes' cost be tested, before any is answered.
  Status Test(std::int64_t step) {
    RETORT_ASSIGN_OR_RETURN(
        const at::Tensor passed, tape_.Obtain(step, [&](release::ChargeBook* book) -> Result<at::Tensor> {
          for (std::int64_t first = 0; first < spec_.queries; first += rows_) {
            const at::Tensor images = data_.public_split.Range(first, std::min(rows_, spec_.queries - first));
            RETORT_ASSIGN_OR_RETURN(
                const release::Answers answers,
                release::Oracle::SumVotes(release::Oracle::Ask(*teacher_, {images, at::Tensor(), step}), gang_));
            if (book != nullptr) RETORT_RETURN_IF_ERROR(test_->Observe(answers));
          }
          if (book == nullptr) return at::Tensor();
          RETORT_ASSIGN_OR_RETURN(release::Charge charge, book->Take(test_->Describe(), 1));
          RETORT_ASSIGN_OR_RETURN(const bool passes, test_->Release(std::move(charge)));
          return at::full({1}, passes ? 1 : 0, at::kInt);
        }));
    if (passed.item<std::int32_t>() == 1) return {};
    return UsageError("The members agree too little: with the test's noise, their answers cost more than vote_cost = " +
                      FormatReal(spec_.release.vote_cost) + " allows. The test was charged; nothing was answered.");
  }

  // Every member's networks vote; gang rank 0 adds the noise to the sum.
  Result<at::Tensor> Release(std::int64_t step, const at::Tensor& images, release::ChargeBook* book) {
    RETORT_ASSIGN_OR_RETURN(
        const release::Answers answers,
        release::Oracle::SumVotes(release::Oracle::Ask(*teacher_, {images, at::Tensor(), step, spec_.release.grain}),
                                  gang_));
    if (book == nullptr) return at::Tensor();
    RememberUntil((step - first_query_) * rows_);
    if (confident_ != nullptr) return confident_->Release(images, answers, *book);
    return PayAndRelease(*mechanism_, answers, rows_, book);
  }

  // What earlier attempts released answers equal images here, too.
  void RememberUntil(std::int64_t known) {
    const std::int64_t at_once = data_.public_split.RowsAtOnce();
    for (; remembered_ < known; remembered_ += std::min(at_once, known - remembered_)) {
      const std::int64_t rows = std::min(at_once, known - remembered_);
      const at::Tensor images = data_.public_split.Range(remembered_, rows);
      const at::Tensor released = histograms_.narrow(0, remembered_, rows);
      if (confident_ != nullptr)
        confident_->Remember(images, released);
      else
        mechanism_->Remember(images, released);
    }
  }

  at::Tensor Evidence(double* gap = nullptr) const {
    const double estimate =
        EstimateVoteGap(histograms_, spec_.release.vote_noise, teacher_->members(), spec_.release.grain);
    if (gap != nullptr) *gap = estimate;
    return ComputeVoteEvidence(histograms_, estimate, spec_.release.vote_noise, spec_.release.grain);
  }

  Status SetTargetsFromVotes(Series& series) {
    if (confident_ != nullptr) {
      series.emplace_back("train.answered", Answered().sum().item<double>());
      training_.SetTargets(FirstClass());
      return {};
    }
    double gap = 0;
    const at::Tensor posterior = at::softmax(Evidence(&gap), 1);
    series.emplace_back("train.vote_gap", gap);
    if (drawn()) {
      RETORT_ASSIGN_OR_RETURN(
          const at::Tensor spread,
          training_.RegressLabels(histograms_.to(at::kFloat),
                                  spec_.release.vote_noise * static_cast<double>(spec_.release.grain)));
      training_.SetTargets(spread);
    } else if (spec_.labels.neighbours > 0) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor spread, training_.PropagateLabels(histograms_.to(at::kFloat)));
      training_.SetTargets(spread);
    } else {
      training_.SetTargets(ByClass() ? FirstClass() : posterior);
    }
    return {};
  }

  // Student and votes as independent evidence on the queried images, the student alone on the others; then the
  // student is drawn anew, without what it memorised of single wrong labels.
  void SetTargetsFromStudentAndVotes() {
    const at::NoGradGuard no_grad;
    at::Tensor said = training_.StudentLogProbabilities();
    if (!ByClass()) said.narrow(0, 0, spec_.queries).add_(Evidence());
    said = at::softmax(said, 1);
    if (ByClass()) {
      at::Tensor asked = said.narrow(0, 0, spec_.queries);
      asked.copy_(at::where(Answered(), FirstClass(), asked));
    }
    training_.SetTargets(said);
    training_.ResetStudent();
  }

  [[nodiscard]] bool drawn() const { return spec_.source == QuerySource::procedural; }
  [[nodiscard]] bool ByClass() const { return spec_.labels.vote_label == VoteLabel::argmax; }
  // bool [queries, 1]: those that the threshold, where there is one, let by.
  at::Tensor Answered() const {
    if (confident_ == nullptr) return at::ones({spec_.queries, 1}, histograms_.options().dtype(at::kBool));
    return histograms_.sum(1, /*keepdim=*/true) > 0;
  }
  // Zeros where a query was not answered.
  at::Tensor FirstClass() const { return MakeOneHotTargets(histograms_.argmax(1), data_.classes) * Answered(); }

  const TrialSpec& spec_;
  std::unique_ptr<const Dataset> asked_;
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  std::unique_ptr<release::TeacherModel> teacher_;
  std::unique_ptr<release::NoisyVotes> mechanism_;      // null where there is a threshold
  std::unique_ptr<release::ConfidentVotes> confident_;  // null where there is none
  std::unique_ptr<release::ConsensusTest> test_;        // null where the cost of votes is not tested
  bool shards_disjoint_, members_independent_;
  PublicTraining training_;
  std::int64_t rows_, releases_;
  std::int64_t first_query_;     // the step of the first release of votes
  std::int64_t remembered_ = 0;  // queries whose answers the mechanism knows
  at::Tensor histograms_;        // i32 [queries, classes]: released
  SampleGallery gallery_;
};

Status CheckQueries(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (!Releases(FindKind(spec), ReleaseKind::votes))
    return UsageError("Method \"" + spec.method + "\" takes noisy votes in the reading \"sound\" alone.");
  if (spec.source == QuerySource::private_split) {
    return UsageError("Votes on the private split would let its images leave: name another source.");
  }
  RETORT_CHECK(spec.source != QuerySource::generator);
  if (spec.queries < 1 || spec.labels.label_steps < 1) {
    return UsageError("Votes need queries >= 1 and label_steps >= 1.");
  }
  return {};
}

// spec.steps batches of spec.batch images of the first kind that the procedure has: of writing the strokes, about
// which members agree more. Nobody has labelled them.
Examples Drawn(const MethodInputs& inputs) {
  const ProceduralSource source(inputs.spec, inputs.data, inputs.gang);
  const std::int64_t steps = inputs.spec.steps, batch = inputs.spec.batch;
  const ImageShape& shape = inputs.data.shape;
  const at::TensorOptions options = at::device(inputs.data.device);
  at::Tensor images = at::empty({steps * batch, shape.channels, shape.height, shape.width}, options.dtype(at::kFloat));
  for (std::int64_t step = 0; step < steps; ++step)
    images.narrow(0, step * batch, batch).copy_(source.ImagesOfFirstKind(step, batch));
  return {images, at::zeros({images.size(0)}, options.dtype(at::kLong))};
}

// The data set with what may be asked about for its public split. Error: there is too little of it, or it is private.
Result<std::unique_ptr<const Dataset>> LoadAskedData(const MethodInputs& inputs) {
  auto asked = std::make_unique<Dataset>(inputs.data);
  if (inputs.spec.source == QuerySource::procedural)
    asked->public_split = Drawn(inputs);
  else
    RETORT_RETURN_IF_ERROR(RequireApart(inputs.data));
  if (inputs.spec.queries > asked->public_split.size()) {
    return UsageError(std::to_string(inputs.spec.queries) + " queries were asked for, of " +
                      std::to_string(asked->public_split.size()) + " pictures.");
  }
  return std::unique_ptr<const Dataset>(std::move(asked));
}

// Share of the members taken to be right, where a method must say before it has seen a histogram.
constexpr double kMemberAccuracy = 0.6;

// Asked in each step while queries are left; the last step may ask fewer.
std::int64_t CountRowsPerStep(const TrialSpec& spec) {
  return std::min(spec.batch, (spec.queries + spec.steps - 1) / spec.steps);
}

// On a generator's images: each step generates a batch, asks the ensemble about its first rows, teaches the student
// everything asked so far, and improves the generator through the student.
class VoteGeneration final : public StudentMethod {
 public:
  VoteGeneration(const MethodInputs& inputs, StudentParts parts, std::unique_ptr<release::NoisyVotes> mechanism)
      : StudentMethod(inputs, std::move(parts), std::min(kMaxGalleryImages, CountRowsPerStep(inputs.spec))),
        mechanism_(std::move(mechanism)),
        rows_(CountRowsPerStep(inputs.spec)),
        transfer_((spec_.queries + rows_ - 1) / rows_, rows_, data_.shape, data_.classes, data_.device),
        histograms_(at::zeros({transfer_.capacity(), data_.classes}, at::device(data_.device).dtype(at::kInt))) {}

  std::int64_t steps() const override { return spec_.steps; }
  std::string phase(std::int64_t) const override { return "distill"; }
  // Improve takes a network and no teacher, and here no targets at all.
  std::vector<std::string> Facts() const override { return SelectStudentFacts(spec_.release.detach, true); }
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
    const double decay = HoldThenLinear(step, steps(), spec_.optimization.lr_hold, spec_.optimization.lr_end);
    const auto at_step = static_cast<std::uint64_t>(step);
    const RngStream replay(spec_.seed, Purpose::replay, at_step), dropout(spec_.seed, Purpose::dropout, at_step);
    at::Tensor student = LossSum().Total();
    for (std::int64_t i = 0; i < spec_.distill.student_steps; ++i) {
      const auto lane = static_cast<std::uint64_t>(i);
      const at::Tensor rows = spec_.distill.balance
                                  ? transfer_.DrawEvenly(spec_.distill.student_batch, replay.Lane(lane))
                                  : transfer_.Draw(spec_.distill.student_batch, replay.Lane(lane));
      const auto [x, y] = transfer_.Take(rows);
      RETORT_ASSIGN_OR_RETURN(
          student, learner_.Teach(OwnMinibatch(x, y, gang_), spec_.optimization.lr * decay, dropout.Lane(lane)));
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor generator,
                            source_->Improve(step, images, batch, learner_.network(), {}, source_->RatesAt(decay)));
    return RecordLosses({{"train.student_loss", student}, {"train.generator_loss", generator}}, gang_, series);
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateStudent();
    out.samples =
        gallery_.ToSamples("synthetic queries and their noisy votes; charged as the trial's ledger says", data_.scale);
    return out;
  }

 private:
  Status Query(std::int64_t step, const at::Tensor& images) {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                            tape_.Obtain(step, [&](release::ChargeBook* book) { return Release(step, images, book); }));
    histograms_.narrow(0, asked_, images.size(0)).copy_(released);
    asked_ += images.size(0);
    transfer_.Push(images, ComputeTargets(images, released));
    gallery_.Offer(step, images, released.to(at::kFloat));
    return {};
  }

  // Of methods that answer over candidates, the candidate with the most votes is taken for the teacher's class.
  at::Tensor ComputeTargets(const at::Tensor& images, const at::Tensor& released) const {
    if (spec_.labels.vote_label == VoteLabel::argmax) {
      const at::NoGradGuard no_grad;
      return PickMostVoted(released, TakesResponses(spec_)
                                         ? ChooseCandidates(spec_, learner_.network().Forward(images).logits)
                                         : at::Tensor());
    }
    const auto classes = static_cast<double>(data_.classes);
    const double gap =
        static_cast<double>(teacher_->members()) * (kMemberAccuracy - (1 - kMemberAccuracy) / (classes - 1));
    return at::softmax(ComputeVoteEvidence(released, gap, spec_.release.vote_noise, spec_.release.grain), 1);
  }

  // Every member's networks vote; gang rank 0 adds the noise to the sum.
  Result<at::Tensor> Release(std::int64_t step, const at::Tensor& images, release::ChargeBook* book) {
    RETORT_ASSIGN_OR_RETURN(
        const release::Answers answers,
        release::Oracle::SumVotes(release::Oracle::Ask(*teacher_, {images, at::Tensor(), step, spec_.release.grain}),
                                  gang_));
    if (book != nullptr) RecallEarlierAnswers();
    return PayAndRelease(*mechanism_, answers, images.size(0), book);
  }

  // What earlier attempts released answers equal images here, too.
  void RecallEarlierAnswers() {
    mechanism_->Remember(transfer_.images().narrow(0, recalled_, asked_ - recalled_),
                         histograms_.narrow(0, recalled_, asked_ - recalled_));
    recalled_ = asked_;
  }

  std::unique_ptr<release::NoisyVotes> mechanism_;
  std::int64_t rows_;                      // asked in each step while queries are left; the last may ask fewer
  TransferSet transfer_;                   // everything asked
  std::int64_t asked_ = 0, recalled_ = 0;  // rows of it; those that the mechanism remembers
  at::Tensor histograms_;                  // i32 [rows of it, classes]: released
};

Result<std::unique_ptr<Method>> MakeVoteGeneration(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (!Releases(FindKind(spec), ReleaseKind::votes))
    return UsageError("Method \"" + spec.method + "\" takes noisy votes in the reading \"sound\" alone.");
  if (spec.queries < 1) return UsageError("Votes need queries >= 1.");
  if ((spec.queries + spec.steps - 1) / spec.steps > spec.batch)
    return UsageError("Votes on generated images need batch times steps of at least queries.");
  StudentParts parts;
  RETORT_ASSIGN_OR_RETURN(parts.teacher, LoadTeacher(*inputs.teacher, inputs.data, inputs.gang, inputs.graphs));
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<release::NoisyVotes> mechanism,
      release::NoisyVotes::Create(release::MakeVoteSettings(spec, inputs.data.classes), release::MakeNoiseKey(spec)));
  RETORT_ASSIGN_OR_RETURN(parts.student, DrawNetwork(inputs));
  RETORT_ASSIGN_OR_RETURN(parts.source, MakeImageSource(spec, inputs.data, inputs.gang, inputs.graphs));
  return std::unique_ptr<Method>(std::make_unique<VoteGeneration>(inputs, std::move(parts), std::move(mechanism)));
}

}  // namespace

Result<std::unique_ptr<Method>> MakeVoteDistillation(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (spec.source == QuerySource::generator) return MakeVoteGeneration(inputs);
  RETORT_RETURN_IF_ERROR(CheckQueries(inputs));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<const Dataset> asked, LoadAskedData(inputs));
  const MethodInputs own{.spec = spec,
                         .data = *asked,
                         .teacher = inputs.teacher,
                         .tape = inputs.tape,
                         .gang = inputs.gang,
                         .noise = inputs.noise,
                         .env = inputs.env,
                         .graphs = inputs.graphs};
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::TeacherModel> teacher,
                          LoadTeacher(*inputs.teacher, inputs.data, inputs.gang, inputs.graphs));
  std::unique_ptr<release::NoisyVotes> mechanism;
  std::unique_ptr<release::ConfidentVotes> confident;
  std::unique_ptr<release::ConsensusTest> test;
  if (spec.release.vote_cost > 0) {
    RETORT_ASSIGN_OR_RETURN(test, release::ConsensusTest::Create({.planned = privacy::PlanConsensusTest(spec),
                                                                  .members = teacher->members(),
                                                                  .classes = inputs.data.classes,
                                                                  .threshold = spec.release.vote_threshold},
                                                                 release::MakeNoiseKey(spec)));
  }
  if (spec.release.threshold_noise > 0) {
    RETORT_ASSIGN_OR_RETURN(confident,
                            release::ConfidentVotes::Create(release::MakeConfidentSettings(spec, inputs.data.classes),
                                                            release::MakeNoiseKey(spec), release::MakeNoiseKey(spec)));
  } else {
    RETORT_ASSIGN_OR_RETURN(mechanism, release::NoisyVotes::Create(release::MakeVoteSettings(spec, inputs.data.classes),
                                                                   release::MakeNoiseKey(spec)));
  }
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> student, DrawNetwork(inputs));
  return std::unique_ptr<Method>(std::make_unique<VoteDistillation>(own, std::move(asked), std::move(teacher),
                                                                    std::move(mechanism), std::move(confident),
                                                                    std::move(test), std::move(student)));
}

}  // namespace retort::worker
