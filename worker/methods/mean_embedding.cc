// DP-MERF (Harder et al. 2021): one noisy embedding of the private examples by class; a generator whose images have
// that embedding; a student trained on labelled images that it makes. All but the first step is post-processing.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "worker/distill/kernel_embedding.h"
#include "worker/gang/summed_gradient.h"
#include "worker/methods/generator_source.h"
#include "worker/methods/method.h"
#include "worker/methods/stop_rule.h"
#include "worker/methods/student_method.h"
#include "worker/models/generators.h"
#include "worker/optim/schedule.h"
#include "worker/release/class_embedding.h"
#include "worker/release/mechanism.h"
#include "worker/training/evaluation.h"
#include "worker/training/learner.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kChunk = 500;  // rows embedded at once, fewer where that would be more than
constexpr std::int64_t kChunkValues = std::int64_t{1} << 27;
constexpr std::int64_t kSynthesised = 1000;  // images of one batch of the student's training set

// [1, channels, 1, 1] beside images.
at::Tensor PerChannel(const std::vector<double>& values, const at::Device& device) {
  return at::tensor(values, at::kFloat).view({1, -1, 1, 1}).to(device);
}

struct Parts {
  std::unique_ptr<ConditionalGenerator> generator;
  std::unique_ptr<Network> student;
  std::optional<release::ClassEmbedding> mechanism;
};

class MeanEmbedding final : public Method {
 public:
  MeanEmbedding(const MethodInputs& inputs, Parts parts)
      : spec_(inputs.spec),
        as_made_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        generator_(std::move(parts.generator)),
        mechanism_(std::move(*parts.mechanism)),
        features_(spec_.merf.random_features, data_.shape.size(), spec_.merf.bandwidth,
                  RngStream(spec_.seed, Purpose::parameters, 0, 2), data_.device),
        mean_(PerChannel(data_.scale.mean, data_.device)),
        deviation_(PerChannel(data_.scale.std, data_.device)),
        adam_(generator_->parameters().flat().numel(), {}, data_.device),
        learner_(std::move(parts.student), inputs.gang, MakeLearnerSettings(inputs.spec, inputs.graphs)),
        batches_(at::arange(spec_.merf.synthetic, at::device(data_.device).dtype(at::kLong)),
                 spec_.distill.student_batch, spec_.seed),
        embedding_(at::zeros({data_.classes, spec_.merf.random_features}, at::device(data_.device).dtype(at::kFloat))),
        gallery_(std::min(kMaxGalleryImages, spec_.batch),
                 {data_.shape.channels, data_.shape.height, data_.shape.width}, data_.classes, data_.device) {
    as_made_.inputs.augment = Augment::none;
  }

  std::int64_t steps() const override { return 1 + spec_.steps + spec_.epochs * batches_.per_epoch(); }
  std::string phase(std::int64_t step) const override {
    if (step == 0) return "embed";
    return step <= spec_.steps ? "generate" : "train";
  }
  // An example's features depend on no other example.
  std::vector<std::string> Facts() const override { return SelectFacts({{privacy::kFactNoBatchNorm, true}}); }
  void Register(TrainState& state) override {
    state.Add("embedding", embedding_);
    state.Add("generator/parameters", generator_->parameters().flat());
    adam_.Register(state, "generator/adam/");
    learner_.Register(state, "student/");
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    if (step == 0) return Embed();
    return step <= spec_.steps ? Generate(step - 1, series) : Train(step - 1 - spec_.steps, series);
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateOutcome(learner_.network(), data_.test, "student/");
    for (auto& blob : generator_->parameters().ToBlobs("generator/")) out.parameters.push_back(std::move(blob));
    out.samples = gallery_.ToSamples("images made to have the released embedding, and the classes they were made for",
                                     data_.scale);
    return out;
  }

 private:
  static constexpr std::int64_t kCurveEvery = 20;

  // Each member embeds its share of the private examples; gang rank 0 adds the noise to the sum.
  Status Embed() {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released,
                            tape_.Obtain(0, [&](release::ChargeBook* book) { return Release(book); }));
    embedding_.copy_(released / static_cast<double>(data_.train.size()));
    return {};
  }

  Result<at::Tensor> Release(release::ChargeBook* book) {
    release::EmbeddingSum sum = SumOwnShare();
    RETORT_RETURN_IF_ERROR(sum.Reduce(gang_));
    if (book == nullptr) return at::Tensor();
    RETORT_ASSIGN_OR_RETURN(release::Charge charge, book->Take(mechanism_.Describe(1), 1));
    return mechanism_.Release(std::move(sum), 0, std::move(charge));
  }

  release::EmbeddingSum SumOwnShare() const {
    const at::NoGradGuard no_grad;
    const RowShare share = ComputeRowShare(data_.train.size(), gang_);
    release::EmbeddingSum sum = mechanism_.NewSum();
    const std::int64_t chunk = std::clamp<std::int64_t>(kChunkValues / spec_.merf.random_features, 1, kChunk);
    for (std::int64_t first = 0; first < share.count; first += chunk) {
      const std::int64_t from = share.first + first, rows = std::min(chunk, share.count - first);
      const at::Tensor pixels = data_.train.Range(from, rows) * deviation_ + mean_;
      sum.Add(features_.Of(pixels), data_.train.labels.narrow(0, from, rows));
    }
    return sum;
  }

  // One Adam step towards the embedding, on a batch of images of all classes alike.
  Status Generate(std::int64_t at, Series& series) {
    const RngStream stream(spec_.seed, Purpose::latents, static_cast<std::uint64_t>(at));
    const RowShare own = ComputeRowShare(spec_.batch, gang_);
    const at::Tensor labels = FindLabels(own.first, own.count);
    const at::Tensor pixels = generator_->Forward(
        DrawNormalRows(own.count, generator_->code(), stream, own.first).to(data_.device), labels, &gang_);
    const at::Tensor features = features_.Of(pixels);
    RETORT_ASSIGN_OR_RETURN(const EmbeddingGradient match,
                            MatchEmbedding(features, labels, embedding_, spec_.batch, gang_));
    ParameterArena& parameters = generator_->parameters();
    RETORT_RETURN_IF_ERROR(SumGradients({features}, {match.features}, parameters, gang_));
    adam_.Step(
        parameters.flat(), parameters.gradient(),
        spec_.generator.lr * HoldThenLinear(at, spec_.steps, spec_.optimization.lr_hold, spec_.optimization.lr_end));
    if (at % kCurveEvery == 0 || at + 1 == spec_.steps) series.emplace_back("train.embedding_loss", match.loss);
    return {};
  }

  Status Train(std::int64_t at, Series& series) {
    if (!synthetic_) synthetic_.emplace(Synthesise());
    if (at == 0) {
      const std::int64_t shown = std::min(kMaxGalleryImages, synthetic_->size());
      gallery_.Offer(spec_.steps, synthetic_->Range(0, shown),
                     MakeOneHotTargets(synthetic_->labels.narrow(0, 0, shown), data_.classes));
    }
    const std::int64_t steps = spec_.epochs * batches_.per_epoch();
    const SupervisedStep here{batches_.Of(at), at, 0, ComputeRateAt(spec_, at, steps)};
    const auto targets = [&](const at::Tensor& rows) {
      return MakeOneHotTargets(synthetic_->labels.index_select(0, rows), data_.classes, spec_.labels.smoothing);
    };
    RETORT_ASSIGN_OR_RETURN(const at::Tensor loss,
                            TeachRows(as_made_, data_.scale, *synthetic_, here, targets, learner_, gang_));
    if (ShouldRecordLoss(spec_, 1 + spec_.steps + at, at, steps, kCurveEvery))
      RETORT_RETURN_IF_ERROR(RecordLoss(loss, "train.student_loss", gang_, series));
    return {};
  }

  // Makes the student's training set: a function of the generator's final parameters and the seed.
  Examples Synthesise() const {
    const at::NoGradGuard no_grad;
    const RngStream stream(spec_.seed, Purpose::generator_latents);
    const ImageShape& shape = data_.shape;
    at::Tensor images = at::empty({spec_.merf.synthetic, shape.channels, shape.height, shape.width},
                                  at::device(data_.device).dtype(at::kFloat));
    for (std::int64_t first = 0; first < spec_.merf.synthetic; first += kSynthesised) {
      const std::int64_t rows = std::min(kSynthesised, spec_.merf.synthetic - first);
      const at::Tensor latents = DrawNormalRows(rows, generator_->code(), stream, first).to(data_.device);
      const at::Tensor pixels = generator_->Forward(latents, FindLabels(first, rows));
      images.narrow(0, first, rows).copy_((pixels - mean_) / deviation_);
    }
    return {std::move(images), FindLabels(0, spec_.merf.synthetic)};
  }

  // Row i is of class i mod classes.
  at::Tensor FindLabels(std::int64_t first, std::int64_t rows) const {
    return at::arange(first, first + rows, at::device(data_.device).dtype(at::kLong)).remainder(data_.classes);
  }

  const TrialSpec& spec_;
  TrialSpec as_made_;  // the same, but synthetic images are taken as they are
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  std::unique_ptr<ConditionalGenerator> generator_;
  release::ClassEmbedding mechanism_;
  RandomFeatures features_;      // of pixels in [0, 1]
  at::Tensor mean_, deviation_;  // of the normalised images' pixels
  Adam adam_;                    // the generator's
  Learner learner_;
  EpochBatches batches_;  // of the synthetic images
  at::Tensor embedding_;  // f32 [classes, random features]: released, divided by the examples
  std::optional<Examples> synthetic_;
  SampleGallery gallery_;
};

}  // namespace

Result<std::unique_ptr<Method>> MakeMeanEmbedding(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  if (data.train.size() == 0) return UsageError("dp-merf needs private examples: split.train is empty.");
  if (spec.merf.random_features < 2 || spec.merf.random_features % 2 != 0)
    return UsageError("random_features are cosines and sines in equal number: an even number, 2 at least.");
  if (spec.merf.synthetic < 1 || spec.epochs < 1) return UsageError("dp-merf needs synthetic >= 1 and epochs >= 1.");
  Parts parts;
  RETORT_ASSIGN_OR_RETURN(parts.generator,
                          ConditionalGenerator::Create(data.shape, data.classes, MakeConditionalSettings(spec),
                                                       RngStream(spec.seed, Purpose::parameters, 0, 1), data.device));
  RETORT_ASSIGN_OR_RETURN(parts.student, DrawNetwork(inputs));
  RETORT_ASSIGN_OR_RETURN(release::ClassEmbedding mechanism,
                          release::ClassEmbedding::Create({.noise_multiplier = spec.release.noise_multiplier,
                                                           .classes = data.classes,
                                                           .features = spec.merf.random_features},
                                                          release::MakeNoiseKey(spec)));
  parts.mechanism.emplace(std::move(mechanism));
  return std::unique_ptr<Method>(std::make_unique<MeanEmbedding>(inputs, std::move(parts)));
}

}  // namespace retort::worker
