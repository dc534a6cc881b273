// A single teacher trained without protection, by cross-entropy: on the private examples, the public ones, or both.
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "worker/methods/method.h"
#include "worker/methods/stop_rule.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {
namespace {

Examples ChooseExamples(const MethodInputs& inputs) {
  const Dataset& data = inputs.data;
  switch (inputs.spec.trained_on) {
    case TrainedOn::public_split:
      return data.public_split;
    case TrainedOn::all:
      if (data.train.size() == 0 || data.public_split.size() == 0) break;
      return Examples::Joined(data.train, data.public_split);
    case TrainedOn::private_split:
      return data.train;
  }
  return data.train.size() == 0 ? data.public_split : data.train;
}

class PlainTeacher final : public Method {
 public:
  PlainTeacher(const MethodInputs& inputs, std::unique_ptr<Network> network)
      : spec_(inputs.spec),
        data_(inputs.data),
        seen_(ChooseExamples(inputs)),
        batch_(std::min(inputs.spec.batch, seen_.size())),
        per_epoch_((seen_.size() + batch_ - 1) / batch_),
        gang_(inputs.gang),
        learner_(std::move(network), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
        evaluating_(inputs.graphs, "evaluation") {}

  // Without epochs one step, which does nothing: every trial has one.
  std::int64_t steps() const override { return std::max<std::int64_t>(spec_.epochs * per_epoch_, 1); }
  std::string phase(std::int64_t) const override { return spec_.epochs == 0 ? "draw" : "train"; }
  void Register(TrainState& state) override { learner_.Register(state, "teacher/"); }

  Status Step(std::int64_t step, Series& series) override {
    if (spec_.epochs == 0) return {};
    const std::int64_t epoch = step / per_epoch_, first = step % per_epoch_ * batch_;
    if (epoch != epoch_) {
      epoch_ = epoch;
      const RngStream stream(spec_.seed, Purpose::batches, static_cast<std::uint64_t>(epoch));
      order_ = at::tensor(DrawPermutation(seen_.size(), stream), at::device(data_.device).dtype(at::kLong));
    }
    const at::Tensor batch = order_.narrow(0, first, std::min(batch_, seen_.size() - first));
    const RowShare share = ComputeRowShare(batch.size(0), gang_);
    const at::Tensor rows = Own(batch, share);
    const at::Tensor targets =
        MakeOneHotTargets(seen_.labels.index_select(0, rows), data_.classes, spec_.labels.smoothing);
    const auto at_step = static_cast<std::uint64_t>(step);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images,
                            MakeTrainingImages(spec_, data_.scale, seen_, rows, step, share.first));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor loss, learner_.Teach({images, targets, share.first, batch.size(0)},
                                                                  ComputeRateAt(spec_, step, steps()),
                                                                  RngStream(spec_.seed, Purpose::dropout, at_step)));
    if (ShouldRecordLoss(spec_, step, step, steps()))
      RETORT_RETURN_IF_ERROR(RecordLoss(loss, "train.loss", gang_, series));
    return {};
  }

  Result<Outcome> Finish() override {
    return EvaluateOutcome(learner_.network(), data_.test, "teacher/", &evaluating_);
  }

 private:
  const TrialSpec& spec_;
  const Dataset& data_;
  Examples seen_;
  std::int64_t batch_, per_epoch_;
  Collective& gang_;
  Learner learner_;
  GraphRegion evaluating_;
  std::int64_t epoch_ = -1;  // of order_
  at::Tensor order_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakePlainTeacher(const MethodInputs& inputs) {
  if (ChooseExamples(inputs).size() == 0)
    return UsageError("A teacher needs training examples, and the splits that trained_on names are empty.");
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network, DrawNetwork(inputs));
  return std::unique_ptr<Method>(std::make_unique<PlainTeacher>(inputs, std::move(network)));
}

}  // namespace retort::worker
