// dp-spectral: every private example adds its label at its place among the public images, in the leading eigenvectors
// of their similarity graph; one noisy sum for each class is released (the mechanism of DP-MERF) and evaluated at every
// public image, and a student is fitted to the labels. All but the first step is post-processing.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "worker/data/split_overlap.h"
#include "worker/distill/similarity_graph.h"
#include "worker/methods/method.h"
#include "worker/methods/public_training.h"
#include "worker/methods/student_method.h"
#include "worker/release/class_embedding.h"
#include "worker/release/mechanism.h"
#include "worker/training/evaluation.h"
#include "worker/training/oriented_features.h"

namespace retort::worker {
namespace {

class SpectralLabels final : public Method {
 public:
  SpectralLabels(const MethodInputs& inputs, release::ClassEmbedding mechanism, std::unique_ptr<Network> student)
      : spec_(inputs.spec),
        data_(inputs.data),
        tape_(inputs.tape),
        gang_(inputs.gang),
        mechanism_(std::move(mechanism)),
        training_(inputs, std::move(student)),
        gallery_(std::min(kMaxGalleryImages, data_.public_split.size()),
                 {data_.shape.channels, data_.shape.height, data_.shape.width}, data_.classes, data_.device) {}

  std::int64_t steps() const override { return 1 + spec_.labels.label_steps; }
  std::string phase(std::int64_t step) const override { return step == 0 ? "release" : "fit"; }
  // An example's place depends on no other private example.
  std::vector<std::string> Facts() const override { return SelectFacts({{privacy::kFactNoBatchNorm, true}}); }
  void Register(TrainState& state) override {
    training_.Register(state);
    gallery_.Register(state, "samples/");
  }

  Status Step(std::int64_t step, Series& series) override {
    if (step == 0) return LabelAll();
    return training_.Fit(step, step - 1, data_.public_split.size(), series);
  }

  Result<Outcome> Finish() override {
    Outcome out = EvaluateOutcome(training_.learner().network(), data_.test, "student/");
    out.samples = gallery_.ToSamples(
        "public pictures and what the noisy sums say of them; charged as the trial's ledger says", data_.scale);
    return out;
  }

 private:
  Status LabelAll() {
    RETORT_ASSIGN_OR_RETURN(const at::Tensor scores,
                            tape_.Obtain(0, [&](release::ChargeBook* book) { return Release(book); }));
    training_.SetTargets(training_.Labels(scores));
    const std::int64_t shown = std::min(kMaxGalleryImages, data_.public_split.size());
    gallery_.Offer(0, data_.public_split.Range(0, shown), scores.narrow(0, 0, shown));
    return {};
  }

  // Each member places its share of the private examples, all in the basis of gang rank 0, which adds the noise to the
  // sum and evaluates it at the public images: f32 [public images, classes], less the mean of all classes. The
  // scores do not depend on which of many bases of the same span it was.
  Result<at::Tensor> Release(release::ChargeBook* book) {
    const at::NoGradGuard no_grad;
    RETORT_ASSIGN_OR_RETURN(const at::Tensor open,
                            ComputeOrientedFeatures(data_.shape, data_.device, data_.public_split));
    at::Tensor basis;
    if (gang_.rank().value == 0)
      basis = SimilarityGraph(open, spec_.labels.neighbours).Leading(spec_.labels.eigenvectors);
    RETORT_ASSIGN_OR_RETURN(basis, BroadcastFromRoot(basis, gang_));
    RETORT_ASSIGN_OR_RETURN(release::EmbeddingSum sum, SumOwnShare(open, basis.cpu()));
    RETORT_RETURN_IF_ERROR(sum.Reduce(gang_));
    if (book == nullptr) return at::Tensor();
    RETORT_ASSIGN_OR_RETURN(release::Charge charge, book->Take(mechanism_.Describe(1), 1));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor released, mechanism_.Release(std::move(sum), 0, std::move(charge)));
    return at::matmul(basis.cpu(), (released - released.mean(0, true)).t());
  }

  Result<release::EmbeddingSum> SumOwnShare(const at::Tensor& open, const at::Tensor& basis) const {
    const RowShare share = ComputeRowShare(data_.train.size(), gang_);
    release::EmbeddingSum sum = mechanism_.NewSum();
    if (share.count == 0) return sum;
    const bool all = share.count == data_.train.size();
    const Examples own = all ? data_.train : data_.train.Rows(at::arange(share.first, share.first + share.count));
    RETORT_ASSIGN_OR_RETURN(const at::Tensor seen, ComputeOrientedFeatures(data_.shape, data_.device, own));
    sum.Add(ExtendSpectralEmbedding(seen, open, basis, spec_.labels.neighbours), own.labels.cpu());
    return sum;
  }

  const TrialSpec& spec_;
  const Dataset& data_;
  ReleaseReplay& tape_;
  Collective& gang_;
  release::ClassEmbedding mechanism_;
  PublicTraining training_;
  SampleGallery gallery_;
};

Status CheckSpectralSpec(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  if (spec.source != QuerySource::public_split)
    return UsageError("dp-spectral labels public pictures: the source of its inputs has to be \"public\".");
  if (data.train.size() == 0) return UsageError("dp-spectral needs private examples: split.train is empty.");
  if (spec.labels.neighbours < 1 || spec.labels.label_steps < 1)
    return UsageError("dp-spectral needs neighbours >= 1 and label_steps >= 1.");
  if (spec.labels.eigenvectors < 1 || spec.labels.eigenvectors > data.public_split.size())
    return UsageError("dp-spectral takes eigenvectors of " + std::to_string(data.public_split.size()) +
                      " public pictures, and " + std::to_string(spec.labels.eigenvectors) + " were asked for.");
  return RequireApart(data);
}

}  // namespace

Result<std::unique_ptr<Method>> MakeSpectralLabels(const MethodInputs& inputs) {
  const TrialSpec& spec = inputs.spec;
  const Dataset& data = inputs.data;
  RETORT_RETURN_IF_ERROR(CheckSpectralSpec(inputs));
  RETORT_ASSIGN_OR_RETURN(release::ClassEmbedding mechanism,
                          release::ClassEmbedding::Create({.noise_multiplier = spec.release.noise_multiplier,
                                                           .classes = data.classes,
                                                           .features = spec.labels.eigenvectors},
                                                          release::MakeNoiseKey(spec)));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> student, DrawNetwork(inputs));
  return std::unique_ptr<Method>(std::make_unique<SpectralLabels>(inputs, std::move(mechanism), std::move(student)));
}

}  // namespace retort::worker
