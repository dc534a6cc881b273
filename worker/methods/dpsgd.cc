// DP-SGD (Abadi et al. 2016) on the private examples, as a teacher or as the baseline student; and DP-GD, the same
// where every step takes all of them. Where only the last layer of a network is trained, its inputs are
// computed once.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/methods/methods.h"
#include "worker/methods/method.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/optim/optimisers.h"
#include "worker/optim/schedule.h"
#include "worker/release/dpsgd_step.h"
#include "worker/training/evaluation.h"
#include "worker/training/per_sample_gradients.h"
#include "worker/training/poisson_sample.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {
namespace {

// Floats of per-sample gradients held at once: 64 MB; of a last layer's inputs for all examples: 1 GB.
constexpr std::int64_t kChunkFloats = std::int64_t{16} << 20, kSeenFloats = std::int64_t{256} << 20;

class DpSgd final : public Method {
 public:
  DpSgd(const MethodInputs& inputs, std::unique_ptr<Network> network, release::DpSgdStep mechanism)
      : spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        network_(std::move(network)),
        mechanism_(std::move(mechanism)),
        velocity_(at::zeros_like(network_->parameters().flat())),
        coordinates_(network_->parameters().parameter_count()),
        differentiating_(inputs.graphs, "per-example gradients") {
    if (spec_.release.clipping == Clipping::per_layer) layers_ = CountLayerCoordinates(*network_);
    if (spec_.optimization.averaging > 0)
      averaged_.emplace(network_->parameters().flat(), spec_.optimization.averaging);
    const std::int64_t values = coordinates_ / network_->classes();
    if (!AugmentsImages(spec_) && data_.train.size() <= kSeenFloats / values) front_ = FindFrozenFront(*network_);
  }

  std::int64_t steps() const override { return spec_.steps; }
  std::string phase(std::int64_t) const override { return "train"; }
  std::vector<std::string> Facts() const override {
    // ComputeMeanGradients identifies an example by its place in the data.
    return SelectFacts({{privacy::kFactPerExampleAugmentation, AugmentsPrivately(spec_)},
                        {privacy::kFactNoBatchNorm, !network_->MixesRows()}});
  }
  void Register(TrainState& state) override {
    state.Add("parameters", network_->parameters().flat());
    state.Add("velocity", velocity_);
    if (averaged_) state.Add("averaged", averaged_->mean());
    if (at::Tensor& constants = network_->buffers().constants(); constants.numel() > 0)
      state.Add("constants", constants);
  }

  Status Step(std::int64_t step, Series& series) override {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor noisy,
                            tape_.Obtain(step, [&](release::ChargeBook* book) { return Release(step, book); }));
    const at::NoGradGuard no_grad;
    ParameterArena& parameters = network_->parameters();
    SpreadGradient(noisy / static_cast<double>(spec_.batch), parameters);
    velocity_.mul_(spec_.optimization.momentum).add_(parameters.gradient());
    const double rate =
        spec_.optimization.lr * HoldThenLinear(step, steps(), spec_.optimization.lr_hold, spec_.optimization.lr_end);
    parameters.flat().add_(velocity_, -rate);
    // Post-processing: a function of parameters that are functions of what was released.
    if (averaged_) averaged_->Add(parameters.flat(), step + 1);
    series.emplace_back("train.noisy_gradient_norm", noisy.norm().item<double>() / static_cast<double>(spec_.batch));
    return {};
  }

  // The result is the mean, where there is one; the next step goes on from the last parameters in any case.
  Result<Outcome> Finish() override {
    if (!averaged_) return Kept();
    const at::NoGradGuard no_grad;
    at::Tensor& parameters = network_->parameters().flat();
    const at::Tensor last = parameters.clone();
    parameters.copy_(averaged_->mean());
    Outcome out = Kept();
    parameters.copy_(last);
    return out;
  }

 private:
  Outcome Kept() const {
    return EvaluateOutcome(*network_, data_.test, spec_.role == Role::teacher ? "teacher/" : "student/");
  }

  // The sampled rows' clipped gradients, each member's share of them by itself, then summed; gang rank 0 draws
  // the sample and the noise.
  Result<at::Tensor> Release(std::int64_t step, release::ChargeBook* book) {
    std::optional<release::Charge> charge;
    at::Tensor sample;
    if (book != nullptr) {
      const privacy::PrivacyEvent event = mechanism_.Describe(1);
      RETORT_ASSIGN_OR_RETURN(release::Charge taken, book->Take(event, 1));
      charge.emplace(std::move(taken));
      // The rate of the event, though images that cannot be read leave fewer examples than the split has.
      sample = DrawPoissonSample(data_.train.size(), event.sampling_rate, spec_.noise, spec_.seed, step);
    }
    RETORT_ASSIGN_OR_RETURN(sample, BroadcastFromRoot(sample, gang_));
    RETORT_RETURN_IF_ERROR(DrawAugmentation());
    RETORT_ASSIGN_OR_RETURN(release::ClippedSum sum, SumOwnShare(step, sample));
    RETORT_RETURN_IF_ERROR(sum.Reduce(gang_));
    if (!charge) return at::Tensor();
    return mechanism_.Release(std::move(sum), step, std::move(*charge));
  }

  Status DrawAugmentation() {
    if (!AugmentsPrivately(spec_)) return {};
    const std::uint64_t drawn = ChooseAugmentationSeed(spec_.noise, spec_.seed);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor shared,
                            BroadcastFromRoot(at::tensor({static_cast<std::int64_t>(drawn)}, at::kLong), gang_));
    augmentation_seed_ = static_cast<std::uint64_t>(shared.item<std::int64_t>());
    return {};
  }

  Result<release::ClippedSum> SumOwnShare(std::int64_t step, const at::Tensor& sample) {
    const RowShare share = ComputeRowShare(sample.size(0), gang_);
    const at::Tensor rows = Own(sample, share).to(data_.device);
    release::ClippedSum sum = mechanism_.NewSum(layers_);
    if (front_) {
      RETORT_RETURN_IF_ERROR(LookOnce());
      AddHeadGradients(rows, sum);
      return sum;
    }
    const std::int64_t copies = spec_.release.augment_multiplicity;
    const std::int64_t most = std::clamp<std::int64_t>(kChunkFloats / coordinates_, 1, 512);
    const std::int64_t chunk = std::max<std::int64_t>(most / copies, 1);
    const auto images = [&](const at::Tensor& of, const RowPlaces& places) {
      return MakeTrainingImages(spec_, data_.scale, data_.train, of, step, places, augmentation_seed_);
    };
    for (std::int64_t first = 0; first < rows.size(0); first += chunk) {
      const at::Tensor part = rows.narrow(0, first, std::min(chunk, rows.size(0) - first));
      if (part.size(0) == chunk && copies == 1 && differentiating_.Records() && !AugmentsImages(spec_)) {
        RETORT_ASSIGN_OR_RETURN(const at::Tensor gradients, DifferentiateChunk(part));
        sum.Add(gradients);
        continue;
      }
      const AugmentedRows copied{part, data_.train.labels.index_select(0, part), copies};
      RETORT_ASSIGN_OR_RETURN(const at::Tensor gradients, ComputeMeanGradients(*network_, copied, most, images));
      sum.Add(gradients);
    }
    return sum;
  }

  // The gradients of a whole chunk of examples, as ComputeMeanGradients gives them for one copy of each. What is left
  // of a sample has another size in every step, and is not recorded.
  Result<at::Tensor> DifferentiateChunk(const at::Tensor& rows) {
    const auto differentiate = [&](const Tensors& in) -> Result<Tensors> {
      const at::Tensor labels = data_.train.labels.index_select(0, in[0]);
      return Tensors{ComputePerSampleGradients(*network_, data_.train.Batch(in[0]), labels)};
    };
    RETORT_ASSIGN_OR_RETURN(const Tensors out, differentiating_.Run({rows}, differentiate));
    return out[0];
  }

  // All members with the constants of gang rank 0, of a checkpoint where there is one.
  Status LookOnce() {
    if (seen_.defined()) return {};
    at::Tensor& constants = network_->buffers().constants();
    if (constants.numel() > 0) {
      RETORT_ASSIGN_OR_RETURN(const at::Tensor shared, BroadcastFromRoot(constants, gang_));
      constants.copy_(shared);
    }
    seen_ = ComputeHeadInputs(*network_, *front_, data_.train);
    return {};
  }

  void AddHeadGradients(const at::Tensor& rows, release::ClippedSum& sum) const {
    constexpr std::int64_t kRows = 4096;
    const at::Tensor& weight = network_->parameters().leaves().front();
    const bool all = rows.size(0) == seen_.size(0);  // a sample holds no example twice
    const auto of = [&](const at::Tensor& examples, std::int64_t first, std::int64_t count) {
      return all ? examples.narrow(0, first, count) : examples.index_select(0, rows.narrow(0, first, count));
    };
    for (std::int64_t first = 0; first < rows.size(0); first += kRows) {
      const std::int64_t count = std::min(kRows, rows.size(0) - first);
      const OuterGradients gradients =
          ComputeHeadGradients(weight, of(seen_, first, count), of(data_.train.labels, first, count));
      sum.AddOuter(gradients.left, gradients.right);
    }
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  std::unique_ptr<Network> network_;
  release::DpSgdStep mechanism_;
  at::Tensor velocity_;
  std::optional<RunningMean> averaged_;  // of the parameters; unset: the result is the last ones
  std::int64_t coordinates_;
  std::uint64_t augmentation_seed_ = 0;  // of the step at hand
  std::vector<std::int64_t> layers_;     // clipped one by one; empty: clipped as a whole
  std::optional<std::size_t> front_;     // the layer before the only one that is trained
  at::Tensor seen_;                      // its output for every private example: [examples, values]
  GraphRegion differentiating_;
};

// In evaluation mode a batch norm treats examples independently, so its presence is checked, too.
Status CheckExamplesApart(const Network& network, const MethodInputs& inputs) {
  const std::string& name = inputs.spec.network;
  if (network.MixesRows()) {
    if (inputs.spec.layers)
      return UsageError("The network '" + name +
                        "' mixes the examples of a batch by batch normalisation; DP-SGD needs one that does not: write "
                        "group_norm in [network." +
                        name + "].");
    const std::string apart = name + "-gn";
    const bool known =
        std::find(ListNetworkNames().begin(), ListNetworkNames().end(), apart) != ListNetworkNames().end();
    return UsageError("The network '" + name + "' mixes the examples of a batch by batch normalisation; DP-SGD needs " +
                      (known ? "one that does not: '" + apart + "' has group norms in its place."
                             : "one that does not, such as 'resnet18-cifar-gn' or 'wrn16-1-gn'."));
  }
  const ImageShape& shape = inputs.data.shape;
  const at::Tensor images = at::linspace(-1, 1, 3 * shape.size(), at::device(inputs.data.device).dtype(at::kFloat))
                                .sin()
                                .view({3, shape.channels, shape.height, shape.width});
  const auto forward = [&network](const at::Tensor& pair) { return network.Forward(pair).logits; };
  if (AreExamplesIndependent(forward, images)) return {};
  return UsageError("The network '" + name + "' mixes the examples of a batch; DP-SGD needs one that does not.");
}

}  // namespace

Result<std::unique_ptr<Method>> MakeDpSgd(const MethodInputs& inputs) {
  if (inputs.data.train.size() == 0) return UsageError("DP-SGD needs training examples: split.train is empty.");
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(inputs.spec, inputs.data.shape, inputs.data.classes,
                                      RngStream(inputs.spec.seed, Purpose::parameters), inputs.data.device));
  RETORT_RETURN_IF_ERROR(CheckExamplesApart(*network, inputs));
  RETORT_ASSIGN_OR_RETURN(release::DpSgdStep mechanism,
                          release::DpSgdStep::FromSpec(inputs.spec, network->parameters().parameter_count()));
  return std::unique_ptr<Method>(std::make_unique<DpSgd>(inputs, std::move(network), std::move(mechanism)));
}

}  // namespace retort::worker
