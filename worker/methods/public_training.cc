#include "worker/methods/public_training.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "worker/distill/similarity_graph.h"
#include "worker/distill/vote_targets.h"
#include "worker/methods/stop_rule.h"
#include "worker/models/model_registry.h"
#include "worker/optim/schedule.h"
#include "worker/training/evaluation.h"
#include "worker/training/oriented_features.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {

namespace {

constexpr std::int64_t kRowsOfPart = 500;  // of one pass

}  // namespace

PublicTraining::PublicTraining(const MethodInputs& inputs, std::unique_ptr<Network> student)
    : spec_(inputs.spec),
      data_(inputs.data),
      gang_(inputs.gang),
      learner_(std::move(student), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
      targets_(at::zeros({data_.public_split.size(), data_.classes}, at::device(data_.device).dtype(at::kFloat))) {}

void PublicTraining::Register(TrainState& state) {
  learner_.Register(state, "student/");
  state.Add("votes/targets", targets_);
}

void PublicTraining::SetTargets(const at::Tensor& distributions) {
  const at::NoGradGuard no_grad;
  const at::Tensor said = distributions.sum(1, true) > 0;
  targets_.narrow(0, 0, distributions.size(0))
      .copy_(
          (distributions * (1 - spec_.labels.smoothing) + spec_.labels.smoothing / static_cast<double>(data_.classes)) *
          said);
  taught_rows_ = at::Tensor();
}

// Rows with a target among the first `pool`.
Result<at::Tensor> PublicTraining::FindTaughtRows(std::int64_t pool) {
  if (!taught_rows_.defined()) taught_rows_ = (targets_.sum(1) > 0).nonzero().view({-1}).cpu();
  const auto* rows = taught_rows_.const_data_ptr<std::int64_t>();
  const std::int64_t count = std::lower_bound(rows, rows + taught_rows_.numel(), pool) - rows;
  if (count == 0) return UsageError("Nothing that was released says anything about a public picture.");
  return taught_rows_.narrow(0, 0, count);
}

at::Tensor PublicTraining::StudentLogProbabilities() const {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> said;
  const std::int64_t at_once = std::min(kRowsOfPart, ComputeMaxRowsPerPass(data_.shape));
  for (std::int64_t first = 0; first < data_.public_split.size(); first += at_once) {
    const std::int64_t rows = std::min(at_once, data_.public_split.size() - first);
    said.push_back(at::log_softmax(learner_.network().Forward(data_.public_split.Range(first, rows)).logits, 1));
  }
  return at::cat(said);
}

void PublicTraining::ResetStudent() {
  learner_.network().Redraw(RngStream(spec_.seed, Purpose::parameters, 1));
  learner_.ResetOptimiser();
}

at::Tensor PublicTraining::Labels(const at::Tensor& scores) const {
  const at::Tensor told = (scores.amax(1) > scores.amin(1)).nonzero().view({-1});
  const at::Tensor telling = scores.index_select(0, told);
  at::Tensor labels = at::zeros({scores.size(0), data_.classes}, scores.options().dtype(at::kFloat));
  if (told.numel() == 0) return labels;
  const at::Tensor classes = spec_.distill.balance ? AssignBalancedClasses(telling) : telling.argmax(1);
  return labels.index_copy_(0, told, MakeOneHotTargets(classes, data_.classes));
}

Result<at::Tensor> PublicTraining::PropagateLabels(const at::Tensor& released) {
  const at::NoGradGuard no_grad;
  at::Tensor all;
  if (gang_.rank().value == 0) {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor features,
                            ComputeOrientedFeatures(data_.shape, data_.device, data_.public_split));
    const SimilarityGraph graph(features, spec_.labels.neighbours);
    // A image that was not asked about gets no label of its own.
    at::Tensor labels = at::zeros_like(targets_);
    labels.narrow(0, 0, released.size(0)).copy_(released - released.mean(1, true));
    all = Labels(graph.PropagateLabels(labels, spec_.labels.propagation));
  }
  return BroadcastFromRoot(all, gang_);
}

Result<at::Tensor> PublicTraining::RegressLabels(const at::Tensor& released, double noise) {
  const at::NoGradGuard no_grad;
  at::Tensor all;
  if (gang_.rank().value == 0) {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor features,
                            ComputeOrientedFeatures(data_.shape, data_.device, data_.public_split));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor said, RegressVotes(features, released, noise));
    all = MakeOneHotTargets(said.argmax(1), data_.classes);
  }
  return BroadcastFromRoot(all, gang_);
}

Status PublicTraining::Fit(std::int64_t step, std::int64_t within, std::int64_t pool, Series& series) {
  const auto at_step = static_cast<std::uint64_t>(step);
  const RngStream pick(spec_.seed, Purpose::batches, at_step);
  RETORT_ASSIGN_OR_RETURN(const at::Tensor teaching, FindTaughtRows(pool));
  const auto* taught = teaching.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(spec_.distill.student_batch));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = taught[pick.Below(i, teaching.numel())];
  const RowShare share = ComputeRowShare(spec_.distill.student_batch, gang_);
  const at::Tensor index = Own(at::tensor(rows, at::device(data_.device).dtype(at::kLong)), share);
  RETORT_ASSIGN_OR_RETURN(const at::Tensor images,
                          MakeTrainingImages(spec_, data_.scale, data_.public_split, index, step, share.first));
  const double rate = spec_.optimization.lr * HoldThenLinear(within, spec_.labels.label_steps,
                                                             spec_.optimization.lr_hold, spec_.optimization.lr_end);
  RETORT_ASSIGN_OR_RETURN(
      const at::Tensor loss,
      learner_.Teach({images, targets_.index_select(0, index), share.first, spec_.distill.student_batch}, rate,
                     RngStream(spec_.seed, Purpose::dropout, at_step)));
  if (ShouldRecordLoss(spec_, step, within, spec_.labels.label_steps))
    RETORT_RETURN_IF_ERROR(RecordLoss(loss, "train.student_loss", gang_, series));
  return {};
}

}  // namespace retort::worker
