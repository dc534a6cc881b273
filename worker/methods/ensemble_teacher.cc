// Ensembles of teachers, each member trained on its own shard of the private examples: logistic regressions in one
// tensor, any networks, and heads fitted to frozen features by ridge regression. One trial, one artifact.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/methods/networks.h"
#include "worker/gang/summed_gradient.h"
#include "worker/methods/method.h"
#include "worker/methods/stop_rule.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/optim/schedule.h"
#include "worker/tensors/tensor_codec.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"
#include "worker/training/per_sample_gradients.h"
#include "worker/training/ridge_regression.h"
#include "worker/training/shards.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {

namespace {

// An ensemble on frozen features: each member's last layer is fitted by ridge regression to its own shard, in closed
// form. One trial, one step, one artifact: the features' constants, and a head a member.
class RidgeEnsemble final : public Method {
 public:
  RidgeEnsemble(const MethodInputs& inputs, std::unique_ptr<Network> network, std::size_t front, Shards shards)
      : spec_(inputs.spec),
        data_(inputs.data),
        gang_(inputs.gang),
        network_(std::move(network)),
        front_(front),
        shards_(std::move(shards)),
        heads_(at::zeros({spec_.members, data_.classes, network_->plan().nodes[front].shape.front()}, at::kFloat)) {}

  std::int64_t steps() const override { return 1; }
  std::string phase(std::int64_t) const override { return "fit"; }
  void Register(TrainState& state) override {
    state.Add("teacher/heads", heads_);
    if (at::Tensor& constants = network_->buffers().constants(); constants.numel() > 0)
      state.Add("teacher/constants", constants);
  }

  // A gang spreads the members; all use the constants of its rank 0.
  Status Step(std::int64_t, Series& series) override {
    const at::NoGradGuard no_grad;
    at::Tensor& constants = network_->buffers().constants();
    if (constants.numel() > 0) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor shared, BroadcastFromRoot(constants, gang_));
      constants.copy_(shared);
    }
    const RowShare share = ComputeRowShare(spec_.members, gang_);
    std::vector<at::Tensor> fitted = {at::empty({0, heads_.size(1), heads_.size(2)}, at::kFloat)};
    for (std::int64_t m = share.first; m < share.first + share.count; ++m) {
      const Examples shard = data_.train.Rows(shards_[static_cast<std::size_t>(m)].to(data_.device));
      const at::Tensor seen = ComputeHeadInputs(*network_, front_, shard);
      const at::Tensor head = FitRidgeHead(seen, shard.labels, data_.classes, spec_.shards.ridge);
      fitted.push_back(head.unsqueeze(0));
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor all, AllGatherRows(at::cat(fitted), spec_.members, gang_));
    heads_.copy_(all);
    series.emplace_back("train.members", static_cast<double>(spec_.members));
    return {};
  }

  // Test accuracy of the plurality vote, and the members' mean.
  Result<Outcome> Finish() override {
    Outcome out;
    out.parameters = network_->StateBlobs("teacher/");
    out.parameters.push_back(MakeTensorBlob(kHeads, heads_));
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Ensemble> ensemble,
                            LoadEnsemble(ChooseNetwork(spec_), spec_.members, data_.shape, data_.classes, "teacher/",
                                         out.parameters, {0, spec_.members}, data_.device));
    std::vector<at::Tensor> votes = {at::empty({0, data_.classes}, at::device(data_.device).dtype(at::kFloat))};
    double right = 0;
    const std::int64_t at_once = std::min(kRows, ComputeMaxRowsPerPass(data_.shape));
    for (std::int64_t first = 0; first < data_.test.size(); first += at_once) {
      const std::int64_t rows = std::min(at_once, data_.test.size() - first);
      const at::Tensor chosen = ensemble->Forward(data_.test.Range(first, rows)).argmax(2);
      right += (chosen == data_.test.labels.narrow(0, first, rows)).sum().item<double>();
      votes.push_back(MakeOneHotTargets(chosen.contiguous(), data_.classes).sum(0));
    }
    out.evaluation = Evaluate(at::cat(votes), data_.test.labels);
    out.metrics = ListTestMetrics(*out.evaluation);
    const auto asked = static_cast<double>(std::max<std::int64_t>(1, data_.test.size() * spec_.members));
    out.metrics.emplace_back("test.member_accuracy", right / asked);
    return out;
  }

 private:
  static constexpr std::int64_t kRows = 250;
  static constexpr const char* kHeads = "teacher/heads";

  const TrialSpec& spec_;
  const Dataset& data_;
  Collective& gang_;
  std::unique_ptr<Network> network_;
  std::size_t front_;
  Shards shards_;
  at::Tensor heads_;  // f32 [members, classes, values], on the CPU
};

Result<std::unique_ptr<Method>> MakeRidgeEnsemble(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  RETORT_ASSIGN_OR_RETURN(Shards shards, AssignShards(spec, inputs.data));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network, DrawNetwork(inputs));
  const std::optional<std::size_t> front = FindFrozenFront(*network);
  if (!front)
    return UsageError("ridge fits the last layer of a network that is frozen but for it, such as hog-linear; \"" +
                      spec.network + "\" has others to train.");
  return std::unique_ptr<Method>(
      std::make_unique<RidgeEnsemble>(inputs, std::move(network), *front, std::move(shards)));
}

// An ensemble of any networks, each trained by cross-entropy on its own shard as a plain teacher is on everything.
// One step is one step of every member that still has some; a gang spreads the members.

// One network with its shard. It depends on no other member; its number selects its random streams.
struct Member {
  Member(std::unique_ptr<Network> network, at::Tensor rows, const MethodInputs& inputs)
      : learner(std::move(network), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
        shard(std::move(rows)),
        batch(std::min(inputs.spec.batch, shard.size(0))),
        per_epoch((shard.size(0) + batch - 1) / batch),
        steps(inputs.spec.epochs * per_epoch) {}
  Learner learner;
  at::Tensor shard;  // i64 [n]
  std::int64_t batch, per_epoch, steps;
  std::int64_t epoch = -1;  // of order
  at::Tensor order;
};

class NetworkEnsemble final : public Method {
 public:
  NetworkEnsemble(const MethodInputs& inputs, std::vector<std::unique_ptr<Member>> members)
      : spec_(inputs.spec), data_(inputs.data), gang_(inputs.gang), members_(std::move(members)) {
    for (const auto& member : members_) steps_ = std::max(steps_, member->steps);
  }

  std::int64_t steps() const override { return steps_; }
  std::string phase(std::int64_t) const override { return spec_.epochs == 0 ? "draw" : "train"; }
  void Register(TrainState& state) override {
    for (std::size_t m = 0; m < members_.size(); ++m)
      members_[m]->learner.Register(state, FormatMemberPrefix("teacher/", static_cast<std::int64_t>(m)));
  }

  Status Step(std::int64_t step, Series& series) override {
    const RowShare share = ComputeRowShare(static_cast<std::int64_t>(members_.size()), gang_);
    std::vector<std::int64_t> rows(members_.size());
    std::vector<at::Tensor> losses;
    for (std::size_t m = 0; m < members_.size(); ++m) {
      Member& member = *members_[m];
      if (step >= member.steps) continue;
      const auto at = static_cast<std::int64_t>(m);
      const bool own = at >= share.first && at < share.first + share.count;
      const at::Tensor batch = FindBatch(member, at, step);
      rows[m] = batch.size(0);
      RETORT_ASSIGN_OR_RETURN(const Minibatch minibatch, own ? Load(at, step, batch) : Nothing(rows[m]));
      const RngStream dropout(spec_.seed, Purpose::dropout, static_cast<std::uint64_t>(step));
      const at::Tensor loss = member.learner.Differentiate(minibatch, dropout.Lane(static_cast<std::uint64_t>(m)));
      if (own) losses.push_back(loss);
      if (rows[m] > 0) RETORT_RETURN_IF_ERROR(member.learner.BeginSum(own ? rows[m] : 0, rows[m]));
    }
    for (std::size_t m = 0; m < members_.size(); ++m) {
      Member& member = *members_[m];
      if (rows[m] > 0) RETORT_RETURN_IF_ERROR(member.learner.Apply(ComputeRateAt(spec_, step, member.steps)));
    }
    if (ShouldRecordLoss(spec_, step, step, steps_)) {
      std::vector<double> sums = {0, static_cast<double>(losses.size())};
      for (const at::Tensor& loss : losses) sums[0] += loss.item<double>();
      RETORT_RETURN_IF_ERROR(SumOverGang(sums, gang_));
      if (sums[1] > 0) series.emplace_back("train.loss", sums[0] / sums[1]);
    }
    return {};
  }

  // Test accuracy of the plurality vote, and the members' mean.
  Result<Outcome> Finish() override {
    Outcome out;
    std::vector<at::Tensor> votes = {at::empty({0, data_.classes}, at::device(data_.device).dtype(at::kFloat))};
    double right = 0;
    const std::int64_t at_once = ComputeMaxRowsPerPass(data_.shape);
    for (std::int64_t first = 0; first < data_.test.size(); first += at_once)
      votes.push_back(Votes(first, std::min(at_once, data_.test.size() - first), right));
    out.evaluation = Evaluate(at::cat(votes), data_.test.labels);
    out.metrics = ListTestMetrics(*out.evaluation);
    const auto asked = static_cast<double>(std::max<std::int64_t>(1, data_.test.size() * spec_.members));
    out.metrics.emplace_back("test.member_accuracy", right / asked);
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const std::string prefix = FormatMemberPrefix("teacher/", static_cast<std::int64_t>(m));
      for (auto& blob : members_[m]->learner.network().StateBlobs(prefix)) out.parameters.push_back(std::move(blob));
    }
    return out;
  }

 private:
  // Members that voted for each class, f32 [rows, classes]; adds to `right` whose vote was the label.
  at::Tensor Votes(std::int64_t first, std::int64_t rows, double& right) const {
    const at::NoGradGuard no_grad;
    const at::Tensor images = data_.test.Range(first, rows), labels = data_.test.labels.narrow(0, first, rows);
    std::vector<at::Tensor> hot;
    for (const auto& member : members_) {
      const at::Tensor vote = member->learner.network().Forward(images).logits.argmax(1);
      right += (vote == labels).sum().item<double>();
      hot.push_back(MakeOneHotTargets(vote, data_.classes));
    }
    return at::stack(hot).sum(0);
  }

  // Examples of the member's step `step`: its shard in an order of its own, another one each epoch.
  at::Tensor FindBatch(Member& member, std::int64_t at, std::int64_t step) const {
    const std::int64_t epoch = step / member.per_epoch, first = step % member.per_epoch * member.batch;
    if (epoch != member.epoch) {
      member.epoch = epoch;
      const RngStream stream(spec_.seed, Purpose::batches, static_cast<std::uint64_t>(epoch));
      const auto order = DrawPermutation(member.shard.size(0), stream.Lane(static_cast<std::uint64_t>(at)));
      member.order = member.shard.index_select(0, at::tensor(order, at::kLong)).to(data_.device);
    }
    return member.order.narrow(0, first, std::min(member.batch, member.order.size(0) - first));
  }

  // Rows are numbered over all members, so that no two share random numbers.
  Result<Minibatch> Load(std::int64_t at, std::int64_t step, const at::Tensor& rows) const {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images,
                            MakeTrainingImages(spec_, data_.scale, data_.train, rows, step, at * spec_.batch));
    const at::Tensor labels = data_.train.labels.index_select(0, rows);
    return Minibatch{images, MakeOneHotTargets(labels, data_.classes, spec_.labels.smoothing), 0, rows.size(0)};
  }

  // Stands in for a batch that another rank trains on.
  Result<Minibatch> Nothing(std::int64_t rows) const {
    const at::TensorOptions options = at::device(data_.device).dtype(at::kFloat);
    return Minibatch{at::empty({0, data_.shape.channels, data_.shape.height, data_.shape.width}, options),
                     at::empty({0, data_.classes}, options), 0, rows};
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  Collective& gang_;
  std::vector<std::unique_ptr<Member>> members_;
  std::int64_t steps_ = 1;  // every trial has one, though it may do nothing
};

// The network of a member. Frozen layers are the same in all of them: they are fitted once, for the first.
Result<std::unique_ptr<Network>> MakeMember(const MethodInputs& inputs, const RngStream& drawn, Network* first) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  const NamedNetwork* named = FindNetwork(spec.network);
  const bool fitted = first != nullptr && named != nullptr && named->frozen;
  if (!fitted) return MakeNetwork(spec, data.shape, data.classes, drawn, data.device);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(spec, data.shape, data.classes, std::nullopt, data.device));
  network->Redraw(drawn);
  network->buffers().constants().copy_(first->buffers().constants());
  return network;
}

Result<std::unique_ptr<Method>> MakeNetworkEnsemble(const MethodInputs& inputs) {
  RETORT_ASSIGN_OR_RETURN(const Shards shards, AssignShards(inputs.spec, inputs.data));
  const RngStream drawn(inputs.spec.seed, Purpose::parameters);
  std::vector<std::unique_ptr<Member>> members;
  for (std::size_t m = 0; m < shards.size(); ++m) {
    Network* first = members.empty() ? nullptr : &members.front()->learner.network();
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                            MakeMember(inputs, drawn.Lane(static_cast<std::uint64_t>(m)), first));
    members.push_back(std::make_unique<Member>(std::move(network), shards[m], inputs));
  }
  return std::unique_ptr<Method>(std::make_unique<NetworkEnsemble>(inputs, std::move(members)));
}

// An ensemble of logistic teachers on equal disjoint shards, all in one tensor: one trial, one artifact.

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
        ensemble_(spec_.members, data_.shape, data_.classes, RngStream(spec_.seed, Purpose::parameters), data_.device),
        adam_(ensemble_.parameters().flat().numel(), {.weight_decay = kWeightDecay}, data_.device) {}

  std::int64_t steps() const override { return spec_.epochs * per_epoch_; }
  std::string phase(std::int64_t) const override { return "train"; }
  void Register(TrainState& state) override {
    state.Add("teacher/parameters", ensemble_.parameters().flat());
    adam_.Register(state, "teacher/adam/");
  }

  // A gang spreads the networks: each member computes the gradients of its own, and the sum holds all of them.
  Status Step(std::int64_t step, Series& series) override {
    const at::Tensor all_rows = FindRows(step);
    const RowShare share = ComputeRowShare(spec_.members, gang_);
    const at::Tensor rows = Own(all_rows, share);
    std::vector<at::Tensor> outputs, seeds;
    std::vector<double> loss = {0};
    if (share.count > 0) {
      const RngStream shifts(spec_.seed, Purpose::shifts, static_cast<std::uint64_t>(step));
      const at::Tensor images = ShiftImages(data_.train.Batch(rows.flatten()), spec_.inputs.shift, data_.scale,
                                            {shifts, share.first * rows.size(1)})
                                    .view({share.count, rows.size(1), -1});
      const at::Tensor targets = MakeOneHotTargets(data_.train.labels.index_select(0, rows.flatten()), data_.classes)
                                     .view({share.count, rows.size(1), -1});
      outputs.push_back(ensemble_.ForwardOwn(images, share.first));
      const at::Tensor log_p = at::log_softmax(outputs[0].detach(), 2);
      seeds.push_back((log_p.exp() - targets) / static_cast<double>(rows.size(1)));
      loss[0] = -(targets * log_p).sum().item<double>() / static_cast<double>(all_rows.numel());
    }
    ParameterArena& parameters = ensemble_.parameters();
    RETORT_RETURN_IF_ERROR(SumGradients(outputs, seeds, parameters, gang_));
    RETORT_RETURN_IF_ERROR(SumOverGang(loss, gang_));
    adam_.Step(
        parameters.flat(), parameters.gradient(),
        spec_.optimization.lr * HoldThenLinear(step, steps(), spec_.optimization.lr_hold, spec_.optimization.lr_end));
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
      const at::Tensor hot = MakeOneHotTargets(logits.argmax(2).contiguous(), data_.classes);
      votes.push_back(hot.sum(0));
      right += (logits.argmax(2) == data_.test.labels.narrow(0, first, rows)).sum().item<double>();
    }
    if (!votes.empty()) out.evaluation = Evaluate(at::cat(votes), data_.test.labels);
    if (out.evaluation) out.metrics = ListTestMetrics(*out.evaluation);
    const auto asked = static_cast<double>(std::max<std::int64_t>(1, data_.test.size() * spec_.members));
    out.metrics.emplace_back("test.member_accuracy", right / asked);
    out.parameters = ensemble_.parameters().ToBlobs("teacher/");
    return out;
  }

 private:
  static constexpr std::int64_t kRows = 250;

  // Examples of this step, [members, rows]: each shard in an order of its own.
  at::Tensor FindRows(std::int64_t step) {
    const std::int64_t epoch = step / per_epoch_, first = step % per_epoch_ * batch_;
    if (epoch != epoch_) {
      epoch_ = epoch;
      order_ = at::empty_like(shards_);
      const RngStream stream(spec_.seed, Purpose::shards, static_cast<std::uint64_t>(epoch));
      for (std::int64_t m = 0; m < spec_.members; ++m) {
        const auto order = DrawPermutation(shards_.size(1), stream.Lane(static_cast<std::uint64_t>(m)));
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
  std::int64_t epoch_ = -1;  // of order_
  at::Tensor order_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeEnsembleTeacher(const MethodInputs& inputs) {
  if (inputs.spec.shards.ridge > 0) return MakeRidgeEnsemble(inputs);
  // Equal shards of softmax regressions fit into one tensor.
  if (inputs.spec.network != "logistic" || !IsPartitionedByIndex(inputs.spec)) return MakeNetworkEnsemble(inputs);
  if (inputs.data.train.size() < inputs.spec.members) {
    return UsageError(std::to_string(inputs.spec.members) + " members need as many training examples; there are " +
                      std::to_string(inputs.data.train.size()) + ".");
  }
  at::Tensor shards = MakeDisjointShards(inputs.data.train.size(), inputs.spec.members);
  RETORT_RETURN_IF_ERROR(CheckDisjoint(shards, inputs.data.train.size()));
  return std::unique_ptr<Method>(std::make_unique<EnsembleTeacher>(inputs, std::move(shards)));
}

}  // namespace retort::worker
