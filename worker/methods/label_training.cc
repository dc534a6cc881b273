// Label differential privacy: a student that sees the private images as they are and their labels as they were
// released.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "worker/distill/response_targets.h"
#include "worker/methods/label_stages.h"
#include "worker/methods/method.h"
#include "worker/methods/stop_rule.h"
#include "worker/models/ensemble.h"
#include "worker/release/label_response.h"
#include "worker/release/mechanism.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {
namespace {

// LP-2ST and its like with more stages (Ghazi et al. 2021, algorithm 3): randomised response on the labels of a part
// of the private examples, a student trained on them; then on the labels of the next part, over the classes that
// this student thinks likely, and so on. Each label is released once.
class LabelStages final : public Method {
 public:
  LabelStages(const MethodInputs& inputs, release::UnlabelledExamples examples,
              std::unique_ptr<release::LabelResponse> mechanism, std::unique_ptr<Network> student,
              std::vector<std::int64_t> ends)
      : spec_(inputs.spec),
        test_(inputs.data.test),
        scale_(inputs.data.scale),
        classes_(inputs.data.classes),
        tape_(inputs.tape),
        gang_(inputs.gang),
        examples_(std::move(examples)),
        mechanism_(std::move(mechanism)),
        learner_(std::move(student), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
        ends_(std::move(ends)),
        order_(at::tensor(DrawPermutation(ends_.back(), RngStream(spec_.seed, Purpose::shards, 0, 3)), at::kLong)
                   .to(inputs.data.device)),
        answers_(at::full({ends_.back()}, -1, order_.options())),
        kept_(at::zeros({ends_.back()}, at::device(inputs.data.device).dtype(at::kByte))) {
    for (const std::int64_t end : ends_) {
      const std::int64_t batch = std::min(spec_.batch, end);
      first_step_.push_back(steps_);
      steps_ += spec_.epochs * ((end + batch - 1) / batch);
    }
    first_step_.push_back(steps_);
  }

  std::int64_t steps() const override { return steps_; }
  std::string phase(std::int64_t step) const override { return "stage " + std::to_string(FindStage(step) + 1); }
  std::vector<std::string> Facts() const override {
    return SelectFacts({{privacy::kFactDisjointParts, IsEachRowOnce(order_)}, {privacy::kFactUnboundedNoise, true}});
  }
  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    state.Add("labels/answers", answers_);
    state.Add("labels/kept", kept_);
  }

  Status Step(std::int64_t step, Series& series) override {
    const std::size_t stage = FindStage(step);
    const std::int64_t within = step - first_step_[stage], of = first_step_[stage + 1] - first_step_[stage];
    if (within == 0) RETORT_RETURN_IF_ERROR(Begin(stage, step, series));
    if (!batches_ || batches_stage_ != stage) {
      batches_.emplace(kept_.nonzero().flatten(), spec_.batch, spec_.seed, stage);
      batches_stage_ = stage;
    }
    const auto targets = [&](const at::Tensor& rows) {
      return MakeOneHotTargets(answers_.index_select(0, rows), classes_, spec_.labels.smoothing);
    };
    const SupervisedStep here{batches_->Of(within), step, 0, ComputeRateAt(spec_, within, of)};
    RETORT_ASSIGN_OR_RETURN(const at::Tensor loss,
                            TeachRows(spec_, scale_, examples_.images, here, targets, learner_, gang_));
    if (ShouldRecordLoss(spec_, step, within, of))
      RETORT_RETURN_IF_ERROR(RecordLoss(loss, "train.loss", gang_, series));
    return {};
  }

  Result<Outcome> Finish() override { return EvaluateOutcome(learner_.network(), test_, "student/"); }

 private:
  std::size_t FindStage(std::int64_t step) const {
    std::size_t stage = 0;
    while (stage + 1 < ends_.size() && step >= first_step_[stage + 1]) ++stage;
    return stage;
  }

  // Rows of this stage, and of all before it.
  at::Tensor FindRows(std::size_t stage) const {
    const std::int64_t begin = stage == 0 ? 0 : ends_[stage - 1];
    return order_.narrow(0, begin, ends_[stage] - begin);
  }
  at::Tensor RowsBefore(std::size_t stage) const { return order_.narrow(0, 0, stage == 0 ? 0 : ends_[stage - 1]); }

  // Releases the stage's labels. A later stage drops the earlier examples whose answers the student finds unlikely,
  // goes on from its parameters and begins a new optimiser.
  Status Begin(std::size_t stage, std::int64_t step, Series& series) {
    const at::NoGradGuard no_grad;
    const at::Tensor rows = FindRows(stage), before = RowsBefore(stage);
    at::Tensor candidates = at::ones({rows.size(0), classes_}, at::device(rows.device()).dtype(at::kBool)), earlier;
    if (stage > 0) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor logits, ComputeLogits(rows));
      candidates =
          ChooseBestCandidates(at::softmax(logits / spec_.staged.prior_temperature, 1), spec_.release.epsilon0);
      RETORT_ASSIGN_OR_RETURN(earlier, ComputeLogits(before));
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, tape_.Obtain(step, [&](release::ChargeBook* book) {
      return Release(stage, step, rows, candidates, book);
    }));
    answers_.index_copy_(0, rows, released);
    kept_.index_fill_(0, rows, 1);
    const double mean = candidates.sum(1).to(at::kDouble).mean().item<double>();
    if (stage > 0) {
      const auto likely = std::max<std::int64_t>(static_cast<std::int64_t>(mean), 1);
      kept_.index_copy_(0, before, IsAmongBest(earlier, answers_.index_select(0, before), likely).to(at::kByte));
      learner_.ResetOptimiser();
    }
    series.emplace_back("labels.candidates", mean);
    series.emplace_back("labels.kept", kept_.sum().item<double>());
    return {};
  }

  // Gang rank 0 draws.
  Result<at::Tensor> Release(std::size_t stage, std::int64_t step, const at::Tensor& rows, const at::Tensor& candidates,
                             release::ChargeBook* book) {
    if (book == nullptr) return at::Tensor();
    RETORT_ASSIGN_OR_RETURN(release::Charge charge, book->Take(mechanism_->Describe(stage), rows.size(0)));
    return mechanism_->Respond(examples_.labels, stage, rows, candidates, step, std::move(charge));
  }

  // In evaluation mode, the same on every member.
  Result<at::Tensor> ComputeLogits(const at::Tensor& rows) {
    const RowShare share = ComputeRowShare(rows.size(0), gang_);
    const std::int64_t at_once = ComputeMaxRowsPerPass(examples_.images.shape());
    std::vector<at::Tensor> logits = {at::empty({0, classes_}, at::device(rows.device()).dtype(at::kFloat))};
    for (std::int64_t first = 0; first < share.count; first += at_once) {
      const at::Tensor part = rows.narrow(0, share.first + first, std::min(at_once, share.count - first));
      logits.push_back(learner_.network().Forward(examples_.images.Batch(part)).logits);
    }
    return AllGatherRows(at::cat(logits), rows.size(0), gang_);
  }

  const TrialSpec& spec_;
  const Examples& test_;
  const PixelScale& scale_;
  std::int64_t classes_;
  ReleaseReplay& tape_;
  Collective& gang_;
  release::UnlabelledExamples examples_;
  std::unique_ptr<release::LabelResponse> mechanism_;
  Learner learner_;
  std::vector<std::int64_t> ends_;        // of the stages, in `order_`
  std::vector<std::int64_t> first_step_;  // of each stage; then all steps
  std::int64_t steps_ = 0;
  at::Tensor order_;    // i64 [private examples]
  at::Tensor answers_;  // i64 [private examples]: released; -1 until then
  at::Tensor kept_;     // u8 [private examples]: 1 where this stage trains on it
  std::optional<EpochBatches> batches_;
  std::size_t batches_stage_ = 0;
};

Result<std::unique_ptr<Method>> MakeLabelStages(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (spec.epochs < 1) return UsageError("lp-2st needs epochs >= 1.");
  if (inputs.data.train.size() < spec.staged.stages || spec.staged.stages < 1)
    return UsageError("lp-2st needs a private example for each of its stages, and a stage at least.");
  release::UnlabelledExamples examples = release::SealLabels(inputs.data.train);
  std::vector<std::int64_t> ends = ComputeStageEnds(examples.labels.size(), spec.staged.stages), parts;
  for (const std::int64_t end : ends) parts.push_back(end - (parts.empty() ? 0 : ends[parts.size() - 1]));
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<release::LabelResponse> mechanism,
      release::LabelResponse::Create(
          {.epsilon0 = spec.release.epsilon0, .classes = inputs.data.classes, .parts = std::move(parts)},
          release::MakeNoiseKey(spec)));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> student, DrawNetwork(inputs));
  return std::unique_ptr<Method>(std::make_unique<LabelStages>(inputs, std::move(examples), std::move(mechanism),
                                                               std::move(student), std::move(ends)));
}

// ALIBI (Malek et al. 2021): Laplace noise on the one-hot labels once; then the student is trained on the
// posterior of the noisy label and its own prediction.
class Alibi final : public Method {
 public:
  Alibi(const MethodInputs& inputs, release::UnlabelledExamples examples,
        std::unique_ptr<release::LabelResponse> mechanism, std::unique_ptr<Network> student)
      : spec_(inputs.spec),
        test_(inputs.data.test),
        scale_(inputs.data.scale),
        tape_(inputs.tape),
        gang_(inputs.gang),
        examples_(std::move(examples)),
        mechanism_(std::move(mechanism)),
        learner_(std::move(student), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
        rows_(at::arange(examples_.labels.size(), at::device(inputs.data.device).dtype(at::kLong))),
        batches_(rows_, spec_.batch, spec_.seed),
        noisy_(at::zeros({examples_.labels.size(), inputs.data.classes},
                         at::device(inputs.data.device).dtype(at::kFloat))) {}

  std::int64_t steps() const override { return spec_.epochs * batches_.per_epoch(); }
  std::string phase(std::int64_t) const override { return "train"; }
  std::vector<std::string> Facts() const override {
    return SelectFacts({{privacy::kFactDisjointParts, IsEachRowOnce(rows_)}, {privacy::kFactUnboundedNoise, true}});
  }
  void Register(TrainState& state) override {
    learner_.Register(state, "student/");
    state.Add("labels/noisy", noisy_);
  }

  Status Step(std::int64_t step, Series& series) override {
    if (step == 0) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                              tape_.Obtain(step, [&](release::ChargeBook* book) { return Release(step, book); }));
      noisy_.copy_(released);
    }
    const double scale = release::LabelLaplaceScale(spec_.release.epsilon0);
    const auto noisy = [&](const at::Tensor& rows) { return noisy_.index_select(0, rows); };
    const auto posterior = [&](const at::Tensor& log_p, const at::Tensor& labels) {
      return ComputeLaplacePosterior(labels, log_p, scale);
    };
    const SupervisedStep here{batches_.Of(step), step, 0, ComputeRateAt(spec_, step, steps())};
    RETORT_ASSIGN_OR_RETURN(const at::Tensor loss,
                            TeachRows(spec_, scale_, examples_.images, here, noisy, learner_, gang_, posterior));
    if (ShouldRecordLoss(spec_, step, step, steps()))
      RETORT_RETURN_IF_ERROR(RecordLoss(loss, "train.loss", gang_, series));
    return {};
  }

  Result<Outcome> Finish() override { return EvaluateOutcome(learner_.network(), test_, "student/"); }

 private:
  // Gang rank 0 draws.
  Result<at::Tensor> Release(std::int64_t step, release::ChargeBook* book) {
    if (book == nullptr) return at::Tensor();
    const std::int64_t labels = examples_.labels.size();
    RETORT_ASSIGN_OR_RETURN(release::Charge charge, book->Take(mechanism_->Describe(0), labels));
    return mechanism_->AddLaplace(examples_.labels, 0, rows_, step, std::move(charge));
  }

  const TrialSpec& spec_;
  const Examples& test_;
  const PixelScale& scale_;
  ReleaseReplay& tape_;
  Collective& gang_;
  release::UnlabelledExamples examples_;
  std::unique_ptr<release::LabelResponse> mechanism_;
  Learner learner_;
  at::Tensor rows_;  // i64 [private examples]: whose labels are released
  EpochBatches batches_;
  at::Tensor noisy_;  // f32 [private examples, classes]: released
};

Result<std::unique_ptr<Method>> MakeAlibi(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (spec.epochs < 1) return UsageError("alibi needs epochs >= 1.");
  if (inputs.data.train.size() == 0) return UsageError("alibi needs private examples: split.train is empty.");
  release::UnlabelledExamples examples = release::SealLabels(inputs.data.train);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<release::LabelResponse> mechanism,
                          release::LabelResponse::Create({.noise = release::LabelNoise::laplace,
                                                          .epsilon0 = spec.release.epsilon0,
                                                          .classes = inputs.data.classes,
                                                          .parts = {examples.labels.size()}},
                                                         release::MakeNoiseKey(spec)));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> student, DrawNetwork(inputs));
  return std::unique_ptr<Method>(
      std::make_unique<Alibi>(inputs, std::move(examples), std::move(mechanism), std::move(student)));
}

}  // namespace

Result<std::unique_ptr<Method>> MakeLabelTraining(const MethodInputs& inputs) {
  return inputs.spec.method == "alibi" ? MakeAlibi(inputs) : MakeLabelStages(inputs);
}

}  // namespace retort::worker
