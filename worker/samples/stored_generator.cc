#include "worker/samples/stored_generator.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "experiments/base/rng_stream.h"
#include "experiments/methods/methods.h"
#include "worker/data/dataset.h"
#include "worker/data/pixel_levels.h"
#include "worker/methods/generator_source.h"
#include "worker/models/generators.h"
#include "worker/tensors/rng_streams.h"
#include "worker/training/evaluation.h"

namespace retort::worker::samples {
namespace {

constexpr const char* kPrefix = "generator/";
constexpr std::int64_t kImagesAtOnce = 256;

// A function of the shape alone.
std::int64_t ChooseBatch(const ImageShape& shape) { return std::min(kImagesAtOnce, ComputeMaxRowsPerPass(shape)); }

// A step that no trial reaches: latents of samples are drawn for nothing else.
constexpr std::uint64_t kSampleStep = std::numeric_limits<std::uint64_t>::max();

// Latents row by row, whatever is before them.
at::Tensor DrawLatents(std::int64_t first, std::int64_t rows, std::int64_t latent, std::uint64_t seed) {
  return DrawNormalRows(rows, latent, RngStream(seed, Purpose::generator_latents, kSampleStep), first);
}

class DataFreeGenerator final : public StoredGenerator {
 public:
  DataFreeGenerator(std::unique_ptr<Generator> generator, std::int64_t latent, ImageFrame frame, std::uint64_t seed)
      : StoredGenerator(ChooseBatch(frame.shape)),
        generator_(std::move(generator)),
        latent_(latent),
        frame_(std::move(frame)),
        seed_(seed) {}
  at::Tensor Batch(std::int64_t index) const override {
    const at::NoGradGuard no_grad;
    return ConvertToBytes(generator_->Forward(DrawLatents(index * batch(), batch(), latent_, seed_)), frame_.scale);
  }

 private:
  std::unique_ptr<Generator> generator_;
  std::int64_t latent_;
  ImageFrame frame_;
  std::uint64_t seed_;
};

// Image i is made of class i mod classes, as the trial's own were. Its pixels lie between 0 and 1.
class ClassGenerator final : public StoredGenerator {
 public:
  ClassGenerator(std::unique_ptr<ConditionalGenerator> generator, ImageFrame frame, std::uint64_t seed)
      : StoredGenerator(ChooseBatch(frame.shape)),
        generator_(std::move(generator)),
        frame_(std::move(frame)),
        seed_(seed) {}
  at::Tensor Batch(std::int64_t index) const override {
    const at::NoGradGuard no_grad;
    const std::int64_t first = index * batch();
    const at::Tensor labels = at::arange(first, first + batch(), at::kLong).remainder(frame_.classes);
    const at::Tensor pixels = generator_->Forward(DrawLatents(first, batch(), generator_->code(), seed_), labels);
    return (pixels * 255.0).round_().clamp_(0, 255).to(at::kByte).contiguous();
  }

 private:
  std::unique_ptr<ConditionalGenerator> generator_;
  ImageFrame frame_;
  std::uint64_t seed_;
};

}  // namespace

Result<std::unique_ptr<StoredGenerator>> LoadGenerator(const TrialSpec& spec, const ImageFrame& frame,
                                                       const std::vector<storage::TensorBlob>& parameters,
                                                       std::uint64_t seed) {
  const bool any = std::any_of(parameters.begin(), parameters.end(),
                               [](const storage::TensorBlob& blob) { return blob.name.starts_with(kPrefix); });
  if (!any) return UsageError("The trial left no generator.");
  const RngStream unused(0, Purpose::parameters);  // what is drawn from it is overwritten
  if (ReleasesEmbedding(FindKind(spec))) {
    RETORT_ASSIGN_OR_RETURN(
        std::unique_ptr<ConditionalGenerator> generator,
        ConditionalGenerator::Create(frame.shape, frame.classes, MakeConditionalSettings(spec), unused));
    RETORT_RETURN_IF_ERROR(generator->parameters().FromBlobs(kPrefix, parameters));
    return std::unique_ptr<StoredGenerator>(std::make_unique<ClassGenerator>(std::move(generator), frame, seed));
  }
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Generator> generator,
                          Generator::Create(frame.shape, MakeGeneratorSettings(spec, frame.scale), unused));
  RETORT_RETURN_IF_ERROR(generator->parameters().FromBlobs(kPrefix, parameters));
  return std::unique_ptr<StoredGenerator>(
      std::make_unique<DataFreeGenerator>(std::move(generator), spec.generator.latent, frame, seed));
}

at::Tensor NormaliseImages(const at::Tensor& pictures, const PixelScale& scale) {
  const at::Tensor bytes = pictures.contiguous();
  const std::int64_t channels = bytes.size(1), plane = bytes.size(2) * bytes.size(3);
  at::Tensor images = at::empty(bytes.sizes(), at::kFloat);
  const PixelLevels levels(channels, scale);
  const std::uint8_t* from = bytes.const_data_ptr<std::uint8_t>();
  float* to = images.mutable_data_ptr<float>();
  for (std::int64_t row = 0; row < bytes.size(0); ++row)
    levels.Normalise(from + row * channels * plane, plane, to + row * channels * plane);
  return images;
}

}  // namespace retort::worker::samples
