// FedAvg (McMahan et al. 2017) as DENSE compares it: clients train on their own private examples from the common
// parameters, one after the other; the unweighted mean of their results gives the next common parameters.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <utility>
#include <vector>

#include "worker/methods/method.h"
#include "worker/methods/stop_rule.h"
#include "worker/models/model_registry.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"
#include "worker/training/shards.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {
namespace {

// The place of a step of the trial.
struct ShardPlace {
  std::int64_t round = 0;
  std::size_t client = 0;
  std::int64_t within = 0;  // step of this client in this round
};

class FederatedAveraging final : public Method {
 public:
  FederatedAveraging(const MethodInputs& inputs, const std::vector<at::Tensor>& clients,
                     std::unique_ptr<Network> common, std::unique_ptr<Network> network)
      : spec_(inputs.spec),
        data_(inputs.data),
        gang_(inputs.gang),
        common_(std::move(common)),
        learner_(std::move(network), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
        sum_(at::zeros_like(common_->parameters().flat(), at::kDouble)),
        statistics_(at::zeros_like(common_->buffers().flat(), at::kDouble)) {
    for (std::size_t k = 0; k < clients.size(); ++k) {
      batches_.emplace_back(clients[k].to(data_.device), spec_.batch, spec_.seed, k);
      round_ += spec_.epochs * batches_.back().per_epoch();
    }
  }

  std::int64_t steps() const override { return spec_.rounds * round_; }
  std::string phase(std::int64_t step) const override { return "round " + std::to_string(step / round_ + 1); }
  void Register(TrainState& state) override {
    state.Add("student/parameters", common_->parameters().flat());
    state.Add("sum/parameters", sum_);
    learner_.Register(state, "client/");
    if (common_->buffers().empty()) return;
    state.Add("student/statistics", common_->buffers().flat());
    state.Add("student/batches", common_->buffers().counts());
    state.Add("sum/statistics", statistics_);
  }

  Status Step(std::int64_t step, Series& series) override {
    const ShardPlace at = FindPlace(step);
    if (at.within == 0) Begin();
    const std::int64_t local = LocalSteps(at.client), own = at.round * local + at.within;
    const SupervisedStep here{batches_[at.client].Of(own), own, at.client,
                              ComputeRateAt(spec_, own, spec_.rounds * local)};
    const auto targets = [&](const at::Tensor& rows) {
      return MakeOneHotTargets(data_.train.labels.index_select(0, rows), data_.classes, spec_.labels.smoothing);
    };
    RETORT_ASSIGN_OR_RETURN(const at::Tensor loss,
                            TeachRows(spec_, data_.scale, data_.train, here, targets, learner_, gang_));
    if (ShouldRecordLoss(spec_, step, at.within, local))
      RETORT_RETURN_IF_ERROR(RecordLoss(loss, "train.loss", gang_, series));
    if (at.within + 1 < local) return {};
    Collect();
    if (at.client + 1 == batches_.size()) Average();
    return {};
  }

  Result<Outcome> Finish() override { return EvaluateOutcome(*common_, data_.test, "student/"); }

 private:
  std::int64_t LocalSteps(std::size_t client) const { return spec_.epochs * batches_[client].per_epoch(); }

  ShardPlace FindPlace(std::int64_t step) const {
    ShardPlace at{step / round_, 0, step % round_};
    for (; at.within >= LocalSteps(at.client); ++at.client) at.within -= LocalSteps(at.client);
    return at;
  }

  // A client starts from the common parameters, with an optimiser of its own.
  void Begin() {
    const at::NoGradGuard no_grad;
    Network& network = learner_.network();
    network.parameters().flat().copy_(common_->parameters().flat());
    learner_.ResetOptimiser();
    if (network.buffers().empty()) return;
    network.buffers().flat().copy_(common_->buffers().flat());
    network.buffers().counts().copy_(common_->buffers().counts());
  }

  void Collect() {
    const at::NoGradGuard no_grad;
    sum_ += learner_.network().parameters().flat();
    if (!common_->buffers().empty()) statistics_ += learner_.network().buffers().flat();
  }

  // Batches are counted as the last client did.
  void Average() {
    const at::NoGradGuard no_grad;
    const auto clients = static_cast<double>(batches_.size());
    common_->parameters().flat().copy_(sum_ / clients);
    sum_.zero_();
    if (common_->buffers().empty()) return;
    common_->buffers().flat().copy_(statistics_ / clients);
    common_->buffers().counts().copy_(learner_.network().buffers().counts());
    statistics_.zero_();
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  Collective& gang_;
  std::unique_ptr<Network> common_;
  Learner learner_;              // the client's
  at::Tensor sum_, statistics_;  // f64, of the clients of this round that are done
  std::vector<EpochBatches> batches_;
  std::int64_t round_ = 0;  // steps of a round
};

}  // namespace

Result<std::unique_ptr<Method>> MakeFederatedAveraging(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  if (spec.epochs < 1 || spec.rounds < 1) return UsageError("fedavg needs epochs >= 1 and rounds >= 1.");
  RETORT_ASSIGN_OR_RETURN(const std::vector<at::Tensor> clients,
                          AssignClientRows(inputs.data.train.labels, inputs.data.classes, spec.shards.clients,
                                           spec.shards.dirichlet_alpha, spec.seed));
  const RngStream stream(spec.seed, Purpose::parameters);
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> common,
                          MakeNetwork(spec, inputs.data.shape, inputs.data.classes, stream, inputs.data.device));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(spec, inputs.data.shape, inputs.data.classes, stream, inputs.data.device));
  return std::unique_ptr<Method>(
      std::make_unique<FederatedAveraging>(inputs, clients, std::move(common), std::move(network)));
}

}  // namespace retort::worker
