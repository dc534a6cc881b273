#include "worker/samples/sample_run.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/messages.h"
#include "cluster/worker_questions.h"
#include "experiments/base/digests.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "storage/datasets/image_set_writer.h"
#include "storage/formats/tensor_blob.h"
#include "storage/results/attempt_file.h"
#include "worker/data/dataset.h"
#include "worker/release/answers.h"
#include "worker/run/failure.h"
#include "worker/samples/image_labeller.h"
#include "worker/samples/sample_evaluation.h"
#include "worker/samples/stored_generator.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker::samples {
namespace {

using cluster::SampleLabels;
using Clock = std::chrono::steady_clock;

// The file of `path`, if it is the one that a row was written for.
Result<storage::AttemptFile> ReadCheckedFile(const std::string& path, const std::string& digest) {
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, storage::ReadAttemptFile(path));
  if (storage::ComputeTensorDigest(file.parameters) == digest) return file;
  return DamageError("'" + path + "' holds other parameters than its row was written for (retort verify).");
}

// What the trial left, and what of it its images need.
struct SampledTrial {
  TrialSpec spec;
  storage::AttemptFile file;
  ImageFrame frame;
};

Result<SampledTrial> LoadTrial(const cluster::SampleOrder& order) {
  SampledTrial trial;
  RETORT_ASSIGN_OR_RETURN(trial.spec, DecodeTrialSpec(order.spec));
  RETORT_ASSIGN_OR_RETURN(trial.file, ReadCheckedFile(order.attempt_file, order.parameters));
  const storage::AttemptFile& file = trial.file;
  if (file.trial != order.trial)
    return DamageError(order.attempt_file + " belongs to trial " + file.trial + ", not to " + order.trial + ".");
  if (!file.samples || file.samples->images.shape.size() != 4 || !file.evaluation)
    return UsageError("The trial kept no samples and no evaluation: it is not one that makes pictures.");
  const std::vector<std::int64_t>& shape = file.samples->images.shape;
  trial.frame = {{shape[1], shape[2], shape[3]}, file.evaluation->classes, {file.samples->mean, file.samples->std}};
  return trial;
}

// Counts, digests and writes images as they come, and keeps those that are evaluated.
class ImageSink {
 public:
  ImageSink(std::unique_ptr<storage::ImageSetWriter> writer, const ImageFrame& frame, bool keep)
      : writer_(std::move(writer)), counts_(static_cast<std::size_t>(frame.classes)), keep_(keep) {}

  // images u8 [rows, channels, height, width], contiguous, and labels i64 [rows], both on the CPU.
  [[nodiscard]] Status Add(const at::Tensor& pictures, const at::Tensor& labels) {
    const std::int64_t bytes = pictures.numel() / std::max<std::int64_t>(pictures.size(0), 1);
    const auto* pixels = reinterpret_cast<const char*>(pictures.const_data_ptr<std::uint8_t>());
    const at::Tensor ordered = labels.contiguous();
    const std::int64_t* label = ordered.const_data_ptr<std::int64_t>();
    for (std::int64_t row = 0; row < pictures.size(0); ++row) {
      const std::string_view picture(pixels + row * bytes, static_cast<std::size_t>(bytes));
      RETORT_CHECK(label[row] >= 0 && label[row] < static_cast<std::int64_t>(counts_.size()));
      RETORT_RETURN_IF_ERROR(writer_->Add(picture, label[row]));
      hash_.Update(picture);
      hash_.UpdateLength(static_cast<std::uint64_t>(label[row]));
      ++counts_[static_cast<std::size_t>(label[row])];
    }
    if (keep_) {
      kept_pictures_.push_back(pictures.clone());
      kept_labels_.push_back(ordered.clone());
    }
    return {};
  }
  [[nodiscard]] Status Finish() { return writer_->Finish(); }
  [[nodiscard]] std::string FinishDigest() { return hash_.FinishHex(); }
  [[nodiscard]] const std::vector<std::int64_t>& counts() const { return counts_; }
  // REQUIRES: they were to be kept, and there is one.
  [[nodiscard]] LabelledImages Kept() const { return {at::cat(kept_pictures_), at::cat(kept_labels_)}; }

 private:
  std::unique_ptr<storage::ImageSetWriter> writer_;
  std::vector<std::int64_t> counts_;
  bool keep_;
  Sha256 hash_;
  std::vector<at::Tensor> kept_pictures_, kept_labels_;
};

// The trial's own images, with the class that the teacher's released answer prefers, of equal ones the first.
Status AddReleased(const SampledTrial& trial, std::int64_t count, ImageSink& sink) {
  RETORT_ASSIGN_OR_RETURN(const at::Tensor pictures, MakeTensorFromBlob(trial.file.samples->images));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor released, MakeTensorFromBlob(trial.file.samples->released));
  if (released.dim() != 2 || released.size(0) != pictures.size(0) || released.size(1) != trial.frame.classes)
    return DamageError("The trial's samples have released answers of another shape than its classes.");
  if (count > pictures.size(0))
    return UsageError("The trial kept " + std::to_string(pictures.size(0)) +
                      " pictures with what was released for them: --count is at most that.");
  return sink.Add(pictures.narrow(0, 0, count).contiguous(),
                  release::FindFirstLargest(released.narrow(0, 0, count).to(at::kFloat)));
}

Result<std::unique_ptr<ImageLabeller>> MakeLabeller(const cluster::SampleOrder& order, const SampledTrial& trial) {
  if (order.labels == SampleLabels::student) return MakeStudentLabeller(trial.spec, trial.frame, trial.file.parameters);
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, ReadCheckedFile(order.teacher_file, order.teacher_parameters));
  RETORT_ASSIGN_OR_RETURN(TrialSpec spec, DecodeTrialSpec(file.spec_json));
  return MakeTeacherLabeller(trial.spec, trial.frame, {std::move(spec), std::move(file.parameters)});
}

// New images. What is labelled is what is written: bytes, normalised as whoever reads them does it.
Status AddMade(const cluster::SampleOrder& order, const SampledTrial& trial, const SampleProgress& progress,
               ImageSink& sink) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<StoredGenerator> generator,
                          LoadGenerator(trial.spec, trial.frame, trial.file.parameters, order.seed));
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<ImageLabeller> labeller, MakeLabeller(order, trial));
  for (std::int64_t made = 0; made < order.count;) {
    const at::Tensor pictures = generator->Batch(made / generator->batch());
    // All rows, so that a label depends on the same batch however many images are wanted.
    RETORT_ASSIGN_OR_RETURN(const at::Tensor labels, labeller->Label(NormaliseImages(pictures, trial.frame.scale)));
    const std::int64_t rows = std::min(generator->batch(), order.count - made);
    RETORT_RETURN_IF_ERROR(sink.Add(pictures.narrow(0, 0, rows), labels.narrow(0, 0, rows)));
    made += rows;
    progress("sampling", made, order.count);
  }
  return {};
}

Status CheckOrder(const cluster::SampleOrder& order, const SampledTrial& trial) {
  if (order.count < 1) return UsageError("--count is at least 1.");
  if (!order.evaluate) return {};
  if (order.count < kMinEvaluated)
    return UsageError("An evaluation needs " + std::to_string(kMinEvaluated) + " pictures or more.");
  if (order.count * trial.frame.shape.size() > kMaxEvaluatedPixels)
    return UsageError("An evaluation holds all pictures in memory, at most 2^31 pixels: choose a smaller --count.");
  return {};
}

Result<cluster::SampleEvaluation> EvaluateOn(const cluster::SampleOrder& order, const SampledTrial& trial,
                                             storage::Env& env, const LabelledImages& samples,
                                             const SampleProgress& progress) {
  DataSpec where = *trial.spec.data;
  if (!order.data_path.empty()) where.path = order.data_path;
  RETORT_ASSIGN_OR_RETURN(const Dataset data, LoadDataset(env, where, std::max(1, trial.spec.threads)));
  if (data.test.size() < 2) return UsageError("An evaluation needs test examples, and the data set has none.");
  if (data.shape != trial.frame.shape || data.classes != trial.frame.classes)
    return DamageError("The data set has other images or classes than the trial's samples.");
  const auto train = [&progress](std::int64_t step, std::int64_t steps) { progress("evaluation", step, steps); };
  return EvaluateSamples(trial.spec, trial.frame, samples, data.test, order.seed, train);
}

Result<cluster::SampleReport> WriteAll(const cluster::SampleOrder& order, storage::Env& env,
                                       const SampleProgress& progress) {
  RETORT_ASSIGN_OR_RETURN(const SampledTrial trial, LoadTrial(order));
  at::set_num_threads(std::max(1, trial.spec.threads));
  RETORT_RETURN_IF_ERROR(CheckOrder(order, trial));
  const ImageShape& shape = trial.frame.shape;
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<storage::ImageSetWriter> writer,
      storage::MakeImageSetWriter(env, order.format, order.folder,
                                  {order.count, shape.channels, shape.height, shape.width, trial.frame.classes}));
  ImageSink sink(std::move(writer), trial.frame, order.evaluate);
  RETORT_RETURN_IF_ERROR(order.labels == SampleLabels::released ? AddReleased(trial, order.count, sink)
                                                                : AddMade(order, trial, progress, sink));
  RETORT_RETURN_IF_ERROR(sink.Finish());
  cluster::SampleReport report{shape.channels, shape.height, shape.width, sink.counts(), sink.FinishDigest(), {}};
  if (!order.evaluate) return report;
  RETORT_ASSIGN_OR_RETURN(report.evaluation, EvaluateOn(order, trial, env, sink.Kept(), progress));
  return report;
}

}  // namespace

Result<cluster::SampleReport> WriteSamples(const cluster::SampleOrder& order, storage::Env& env,
                                           const SampleProgress& progress) {
  std::optional<Result<cluster::SampleReport>> report;
  const std::optional<Failure> failure = CatchTorch([&]() -> std::optional<Failure> {
    report = WriteAll(order, env, progress);
    return std::nullopt;
  });
  if (failure) return EnvironmentError(failure->detail);
  return *std::move(report);
}

Status ServeSamples(cluster::SocketLink& link, const std::string& text, storage::Env& env) {
  const Result<cluster::SampleOrder> order = cluster::DecodeSampleOrder(text);
  if (!order.ok()) return cluster::SendAnswer(link, order.status());
  std::string phase;
  Clock::time_point said = Clock::now();
  const SampleProgress progress = [&](const std::string& now, std::int64_t step, std::int64_t steps) {
    if (now == phase && Clock::now() - said < std::chrono::seconds(1)) return;
    phase = now;
    said = Clock::now();
    static_cast<void>(link.Send({{}, {}, 0, cluster::Progress{step, steps, now, {}}}));  // a lost report does no harm
  };
  const Result<cluster::SampleReport> report = WriteSamples(*order, env, progress);
  if (!report.ok()) return cluster::SendAnswer(link, report.status());
  return cluster::SendAnswer(link, cluster::EncodeSampleReport(*report));
}

}  // namespace retort::worker::samples
