// An ensemble of any networks, each trained by cross-entropy on its own shard as a plain teacher is on everything.
// One step is one step of every member that still has some; a gang spreads the members.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/spec/networks.h"
#include "worker/evaluation.h"
#include "worker/methods/learner.h"
#include "worker/methods/method.h"
#include "worker/methods/training_images.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"
#include "worker/private/shards.h"
#include "worker/stop_rule.h"

namespace retort::worker {
namespace {

// One network with its shard. Nothing of it depends on the other members, but for their number in the streams.
struct Member {
  Member(std::unique_ptr<Network> network, at::Tensor rows, const MethodInputs& inputs)
      : learner(std::move(network), inputs.gang, SettingsOf(inputs.spec)),
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
      members_[m]->learner.Register(state, MemberPrefix("teacher/", static_cast<std::int64_t>(m)));
  }

  Status Step(std::int64_t step, Series& series) override {
    const RowShare share = ShareOf(static_cast<std::int64_t>(members_.size()), gang_);
    std::vector<std::int64_t> rows(members_.size());
    std::vector<double> sums = {0, 0};  // of losses, of members that learn
    for (std::size_t m = 0; m < members_.size(); ++m) {
      Member& member = *members_[m];
      if (step >= member.steps) continue;
      const auto at = static_cast<std::int64_t>(m);
      const bool own = at >= share.first && at < share.first + share.count;
      const at::Tensor batch = BatchOf(member, at, step);
      rows[m] = batch.size(0);
      RETORT_ASSIGN_OR_RETURN(const Minibatch minibatch, own ? Load(at, step, batch) : Nothing(rows[m]));
      const RngStream dropout(spec_.seed, Purpose::dropout, static_cast<std::uint64_t>(step));
      sums[0] += member.learner.Differentiate(minibatch, dropout.Lane(static_cast<std::uint64_t>(m)));
      sums[1] += own ? 1 : 0;
    }
    for (std::size_t m = 0; m < members_.size(); ++m) {
      Member& member = *members_[m];
      if (rows[m] == 0) continue;
      const auto at = static_cast<std::int64_t>(m);
      const bool own = at >= share.first && at < share.first + share.count;
      RETORT_RETURN_IF_ERROR(
          member.learner.Apply(own ? rows[m] : 0, rows[m], RateAt(spec_, step, member.steps)));
    }
    if (RecordsLoss(spec_, step, step, steps_)) {
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
    const std::int64_t at_once = RowsOfAPass(data_.shape);
    for (std::int64_t first = 0; first < data_.test.size(); first += at_once)
      votes.push_back(Votes(first, std::min(at_once, data_.test.size() - first), right));
    out.evaluation = Evaluate(at::cat(votes), data_.test.labels);
    out.metrics = TestMetrics(*out.evaluation);
    const auto asked = static_cast<double>(std::max<std::int64_t>(1, data_.test.size() * spec_.members));
    out.metrics.emplace_back("test.member_accuracy", right / asked);
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const std::string prefix = MemberPrefix("teacher/", static_cast<std::int64_t>(m));
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
      hot.push_back(OneHotTargets(vote, data_.classes));
    }
    return at::stack(hot).sum(0);
  }

  // Examples of the member's step `step`: its shard in an order of its own, another one each epoch.
  at::Tensor BatchOf(Member& member, std::int64_t at, std::int64_t step) const {
    const std::int64_t epoch = step / member.per_epoch, first = step % member.per_epoch * member.batch;
    if (epoch != member.epoch) {
      member.epoch = epoch;
      const RngStream stream(spec_.seed, Purpose::batches, static_cast<std::uint64_t>(epoch));
      const auto order = Permutation(member.shard.size(0), stream.Lane(static_cast<std::uint64_t>(at)));
      member.order = member.shard.index_select(0, at::tensor(order, at::kLong)).to(data_.device);
    }
    return member.order.narrow(0, first, std::min(member.batch, member.order.size(0) - first));
  }

  // Members' rows are numbered one behind the other, so that no two share random numbers.
  Result<Minibatch> Load(std::int64_t at, std::int64_t step, const at::Tensor& rows) const {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor images,
                            TrainingImages(spec_, data_.scale, data_.train, rows, step, at * spec_.batch));
    const at::Tensor labels = data_.train.labels.index_select(0, rows);
    return Minibatch{images, OneHotTargets(labels, data_.classes, spec_.smoothing), 0, rows.size(0)};
  }

  // Another rank's batch.
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
  const std::string& name = inputs.spec.network;
  const Dataset& data = inputs.data;
  const bool fitted = first != nullptr && FindNetwork(name)->frozen;
  if (!fitted) return MakeNetwork(name, data.shape, data.classes, drawn, data.device);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(name, data.shape, data.classes, std::nullopt, data.device));
  network->Redraw(drawn);
  network->buffers().constants().copy_(first->buffers().constants());
  return network;
}

}  // namespace

Result<std::unique_ptr<Method>> MakeNetworkEnsemble(const MethodInputs& inputs) {
  RETORT_ASSIGN_OR_RETURN(const Shards shards, ShardsOf(inputs.spec, inputs.data));
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

}  // namespace retort::worker
