#include "worker/samples/sample_evaluation.h"

#include <ATen/ops/arange.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "worker/gang/local_collective.h"
#include "worker/models/model_registry.h"
#include "worker/training/evaluation.h"
#include "worker/training/frechet.h"
#include "worker/training/learner.h"
#include "worker/training/oriented_features.h"
#include "worker/training/supervised_training.h"

namespace retort::worker::samples {
namespace {

constexpr std::int64_t kEpochs = 10, kTrainingBatch = 128;
constexpr std::int64_t kHeldOut = 10;  // one of so many images chooses
constexpr double kRate = 1e-3;

}  // namespace

Result<cluster::SampleEvaluation> EvaluateSamples(
    const TrialSpec& spec, const ImageFrame& frame, const LabelledImages& samples, const Examples& test,
    std::uint64_t seed, const std::function<void(std::int64_t step, std::int64_t steps)>& progress) {
  const Examples all(NormaliseImages(samples.pictures, frame.scale), samples.labels);
  RETORT_CHECK(all.size() >= kMinEvaluated && test.size() >= 2);
  cluster::SampleEvaluation evaluation;
  evaluation.network = spec.network;
  evaluation.held_out = all.size() / kHeldOut;
  evaluation.training = all.size() - evaluation.held_out;
  evaluation.test = test.size();
  evaluation.epochs = kEpochs;
  const Examples held_out =
      all.Rows(at::arange(evaluation.training, evaluation.training + evaluation.held_out, at::kLong));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(spec, frame.shape, frame.classes, RngStream(seed, Purpose::parameters)));
  const std::unique_ptr<Collective> gang = MakeSoloCollective();
  Learner learner(std::move(network), *gang);
  EpochBatches batches(at::arange(0, evaluation.training, at::kLong), kTrainingBatch, seed);
  const std::int64_t steps = kEpochs * batches.per_epoch();
  std::vector<storage::TensorBlob> best;
  for (std::int64_t step = 0; step < steps; ++step) {
    const at::Tensor rows = batches.Of(step);
    const Minibatch batch{all.Batch(rows), MakeOneHotTargets(all.labels.index_select(0, rows), frame.classes), 0,
                          rows.size(0)};
    const Result<at::Tensor> loss =
        learner.Teach(batch, kRate, RngStream(seed, Purpose::dropout, static_cast<std::uint64_t>(step)));
    RETORT_RETURN_IF_ERROR(loss.status());
    progress(step + 1, steps);
    if ((step + 1) % batches.per_epoch() != 0) continue;
    const double accuracy = Evaluate(learner.network(), held_out).accuracy;
    if (!best.empty() && accuracy <= evaluation.held_out_accuracy) continue;
    evaluation.held_out_accuracy = accuracy;
    evaluation.epoch = (step + 1) / batches.per_epoch();
    best = learner.network().StateBlobs("");
  }
  RETORT_RETURN_IF_ERROR(learner.network().LoadState("", best));
  evaluation.accuracy = Evaluate(learner.network(), test).accuracy;
  RETORT_ASSIGN_OR_RETURN(const at::Tensor made, ComputeOrientedFeatures(frame.shape, at::kCPU, all));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor real, ComputeOrientedFeatures(frame.shape, at::kCPU, test));
  evaluation.frechet_distance = ComputeFrechetDistance(made, real);
  return evaluation;
}

}  // namespace retort::worker::samples
