// An ensemble of logistic teachers on equal disjoint shards, all in one tensor: one trial, one artifact.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>

#include "worker/evaluation.h"
#include "worker/gang/summed_gradient.h"
#include "worker/methods/learner.h"
#include "worker/methods/method.h"
#include "worker/models/ensemble.h"
#include "worker/optim/schedule.h"
#include "worker/private/shards.h"

namespace retort::worker {
namespace {

// Strength of the decoupled decay that keeps a member from memorising its tens of examples.
constexpr double kWeightDecay = 0.05;

class EnsembleTeacher final : public Method {
 public:
  // `shards` i64 [members, shard size], disjoint.
  EnsembleTeacher(const MethodInputs& inputs, at::Tensor shards)
      : spec_(inputs.spec),
        data_(inputs.data),
        gang_(inputs.gang),
        shards_(std::move(shards)),
        batch_(std::min(inputs.spec.batch, shards_.size(1))),
        per_epoch_((shards_.size(1) + batch_ - 1) / batch_),
        ensemble_(spec_.members, data_.shape, data_.classes, RngStream(spec_.seed, Purpose::parameters),
                  data_.device),
        adam_(ensemble_.parameters().flat().numel(), {.weight_decay = kWeightDecay}, data_.device) {}

  std::int64_t steps() const override { return spec_.epochs * per_epoch_; }
  std::string phase(std::int64_t) const override { return "train"; }
  void Register(TrainState& state) override {
    state.Add("teacher/parameters", ensemble_.parameters().flat());
    adam_.Register(state, "teacher/adam/");
  }

  // A gang spreads the networks: each member computes the gradients of its own, and the sum holds all of them.
  Status Step(std::int64_t step, Series& series) override {
    const at::Tensor all_rows = RowsOf(step);
    const RowShare share = ShareOf(spec_.members, gang_);
    const at::Tensor rows = Own(all_rows, share);
    std::vector<at::Tensor> outputs, seeds;
    std::vector<double> loss = {0};
    if (share.count > 0) {
      const RngStream shifts(spec_.seed, Purpose::shifts, static_cast<std::uint64_t>(step));
      const at::Tensor images = Shifted(data_.train.Batch(rows.flatten()), spec_.shift, data_.scale,
                                        {shifts, share.first * rows.size(1)})
                                    .view({share.count, rows.size(1), -1});
      const at::Tensor targets = OneHotTargets(data_.train.labels.index_select(0, rows.flatten()), data_.classes)
                                     .view({share.count, rows.size(1), -1});
      outputs.push_back(ensemble_.ForwardOwn(images, share.first));
      const at::Tensor log_p = at::log_softmax(outputs[0].detach(), 2);
      seeds.push_back((log_p.exp() - targets) / static_cast<double>(rows.size(1)));
      loss[0] = -(targets * log_p).sum().item<double>() / static_cast<double>(all_rows.numel());
    }
    ParameterArena& parameters = ensemble_.parameters();
    RETORT_RETURN_IF_ERROR(SumGradients(outputs, seeds, parameters, gang_));
    RETORT_RETURN_IF_ERROR(SumOverGang(loss, gang_));
    adam_.Step(parameters.flat(), parameters.gradient(),
               spec_.lr * HoldThenLinear(step, steps(), spec_.lr_hold, spec_.lr_end));
    series.emplace_back("train.loss", loss[0]);
    return {};
  }

  // Test accuracy of the plurality vote, and the members' mean.
  Result<Outcome> Finish() override {
    const at::NoGradGuard no_grad;
    Outcome out;
    std::vector<at::Tensor> votes;
    double right = 0;
    for (std::int64_t first = 0; first < data_.test.size(); first += kRows) {
      const std::int64_t rows = std::min(kRows, data_.test.size() - first);
      const at::Tensor logits = ensemble_.ForwardShared(data_.test.Range(first, rows));
      const at::Tensor hot = OneHotTargets(logits.argmax(2).contiguous(), data_.classes);
      votes.push_back(hot.sum(0));
      right += (logits.argmax(2) == data_.test.labels.narrow(0, first, rows)).sum().item<double>();
    }
    if (!votes.empty()) out.evaluation = Evaluate(at::cat(votes), data_.test.labels);
    if (out.evaluation) out.metrics = TestMetrics(*out.evaluation);
    const auto asked = static_cast<double>(std::max<std::int64_t>(1, data_.test.size() * spec_.members));
    out.metrics.emplace_back("test.member_accuracy", right / asked);
    out.parameters = ensemble_.parameters().ToBlobs("teacher/");
    return out;
  }

 private:
  static constexpr std::int64_t kRows = 250;

  // Examples of this step, [members, rows]: each shard in an order of its own.
  at::Tensor RowsOf(std::int64_t step) {
    const std::int64_t epoch = step / per_epoch_, first = step % per_epoch_ * batch_;
    if (epoch != epoch_) {
      epoch_ = epoch;
      order_ = at::empty_like(shards_);
      const RngStream stream(spec_.seed, Purpose::shards, static_cast<std::uint64_t>(epoch));
      for (std::int64_t m = 0; m < spec_.members; ++m) {
        const auto order = Permutation(shards_.size(1), stream.Lane(static_cast<std::uint64_t>(m)));
        order_[m].copy_(shards_[m].index_select(0, at::tensor(order, at::kLong)));
      }
      order_ = order_.to(data_.device);
    }
    return order_.narrow(1, first, std::min(batch_, shards_.size(1) - first));
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  Collective& gang_;
  at::Tensor shards_;
  std::int64_t batch_, per_epoch_;
  LogisticEnsemble ensemble_;
  Adam adam_;
  std::int64_t epoch_ = -1;   // of order_
  at::Tensor order_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeEnsembleTeacher(const MethodInputs& inputs) {
  if (inputs.spec.ridge > 0) return MakeRidgeEnsemble(inputs);
  // Equal shards of softmax regressions fit into one tensor.
  if (inputs.spec.network != "logistic" || !FixedByIndex(inputs.spec)) return MakeNetworkEnsemble(inputs);
  if (inputs.data.train.size() < inputs.spec.members) {
    return UsageError(std::to_string(inputs.spec.members) + " members need as many training examples; there are " +
                      std::to_string(inputs.data.train.size()) + ".");
  }
  at::Tensor shards = DisjointShards(inputs.data.train.size(), inputs.spec.members);
  RETORT_RETURN_IF_ERROR(CheckDisjoint(shards, inputs.data.train.size()));
  return std::unique_ptr<Method>(std::make_unique<EnsembleTeacher>(inputs, std::move(shards)));
}

}  // namespace retort::worker
