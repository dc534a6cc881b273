// An ensemble on frozen features: each member's last layer is fitted by ridge regression to its own shard, in closed
// form. One trial, one step, one artifact: the features' constants, and a head a member.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "worker/evaluation.h"
#include "worker/methods/learner.h"
#include "worker/methods/method.h"
#include "worker/models/ensemble.h"
#include "worker/models/frozen_front.h"
#include "worker/models/model_registry.h"
#include "worker/private/head_gradients.h"
#include "worker/private/ridge_heads.h"
#include "worker/private/shards.h"
#include "worker/tensor_codec.h"

namespace retort::worker {
namespace {

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
    const RowShare share = ShareOf(spec_.members, gang_);
    std::vector<at::Tensor> fitted = {at::empty({0, heads_.size(1), heads_.size(2)}, at::kFloat)};
    for (std::int64_t m = share.first; m < share.first + share.count; ++m) {
      const Examples shard = data_.train.Rows(shards_[static_cast<std::size_t>(m)].to(data_.device));
      const at::Tensor seen = SeenByHead(*network_, front_, shard);
      const at::Tensor head = RidgeHead(seen, shard.labels, data_.classes, spec_.ridge);
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
    out.parameters.push_back(ToBlob(kHeads, heads_));
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Ensemble> ensemble,
                            LoadEnsemble(spec_.network, spec_.members, data_.shape, data_.classes, "teacher/",
                                         out.parameters, {0, spec_.members}, data_.device));
    std::vector<at::Tensor> votes = {at::empty({0, data_.classes}, at::device(data_.device).dtype(at::kFloat))};
    double right = 0;
    const std::int64_t at_once = std::min(kRows, RowsOfAPass(data_.shape));
    for (std::int64_t first = 0; first < data_.test.size(); first += at_once) {
      const std::int64_t rows = std::min(at_once, data_.test.size() - first);
      const at::Tensor chosen = ensemble->Forward(data_.test.Range(first, rows)).argmax(2);
      right += (chosen == data_.test.labels.narrow(0, first, rows)).sum().item<double>();
      votes.push_back(OneHotTargets(chosen.contiguous(), data_.classes).sum(0));
    }
    out.evaluation = Evaluate(at::cat(votes), data_.test.labels);
    out.metrics = TestMetrics(*out.evaluation);
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

}  // namespace

Result<std::unique_ptr<Method>> MakeRidgeEnsemble(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  RETORT_ASSIGN_OR_RETURN(Shards shards, ShardsOf(spec, inputs.data));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(spec.network, inputs.data.shape, inputs.data.classes,
                                      RngStream(spec.seed, Purpose::parameters), inputs.data.device));
  const std::optional<std::size_t> front = FrozenFront(*network);
  if (!front)
    return UsageError("ridge fits the last layer of a network that is frozen but for it, such as hog-linear; \"" +
                      spec.network + "\" has others to train.");
  return std::unique_ptr<Method>(
      std::make_unique<RidgeEnsemble>(inputs, std::move(network), *front, std::move(shards)));
}

}  // namespace retort::worker
