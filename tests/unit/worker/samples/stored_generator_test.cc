// Images of a stored generator depend on its parameters, the seed and their number alone.
#include "worker/samples/stored_generator.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <string>

#include "experiments/base/rng_stream.h"
#include "worker/data/dataset.h"
#include "worker/methods/generator_source.h"
#include "worker/models/generators.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker::samples {
namespace {

const ImageFrame kStoredFrame{{1, 16, 16}, 4, {{0.2}, {0.4}}};

TrialSpec MakeStoredSpec() {
  TrialSpec spec;
  spec.role = Role::student;
  spec.method = "dpdfd";
  spec.generator.latent = 8;
  spec.generator.width = 4;
  return spec;
}

std::vector<storage::TensorBlob> MakeParameters(std::uint64_t seed = 1) {
  return (*Generator::Create(kStoredFrame.shape, 8, 4, RngStream(seed, Purpose::parameters)))
      ->parameters()
      .ToBlobs("generator/");
}

std::unique_ptr<StoredGenerator> Load(std::uint64_t seed, std::uint64_t parameters = 1) {
  auto loaded = LoadGenerator(MakeStoredSpec(), kStoredFrame, MakeParameters(parameters), seed);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return std::move(loaded).value();
}

TEST(StoredGenerator, BatchIsAFunctionOfItsPlace) {
  const auto one = Load(5), other = Load(5);
  const at::Tensor second = other->Batch(1);  // without the first
  static_cast<void>(one->Batch(0));
  EXPECT_TRUE(at::equal(one->Batch(1), second));
  EXPECT_FALSE(at::equal(one->Batch(0), second));
  EXPECT_EQ(second.size(0), one->batch());
  EXPECT_EQ(second.scalar_type(), at::kByte);
  EXPECT_FALSE(at::equal(Load(6)->Batch(1), second));
  EXPECT_FALSE(at::equal(Load(5, 2)->Batch(1), second));
}

// As many rows as there were in training would not do: the statistics of a batch are those of its rows.
TEST(StoredGenerator, LatentsAreThoseOfItsRows) {
  const auto generator = Load(5);
  const auto whole = Generator::Create(kStoredFrame.shape, 8, 4, RngStream(1, Purpose::parameters));
  const RngStream stream(5, Purpose::generator_latents, ~std::uint64_t{0});
  const at::Tensor latents = DrawNormalRows(generator->batch(), 8, stream, generator->batch());
  EXPECT_TRUE(at::equal(generator->Batch(1), ConvertToBytes((*whole)->Forward(latents), kStoredFrame.scale)));
}

TEST(StoredGenerator, FastOneIsMadeAsInItsTrial) {
  TrialSpec spec = MakeStoredSpec();
  spec.generator.network = "fast";
  const auto whole =
      Generator::Create(kFrame.shape, MakeGeneratorSettings(spec, kFrame.scale), RngStream(1, Purpose::parameters));
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto stored = LoadGenerator(spec, kFrame, (*whole)->parameters().ToBlobs("generator/"), 5);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  const RngStream stream(5, Purpose::generator_latents, ~std::uint64_t{0});
  const at::Tensor latents = DrawNormalRows((*stored)->batch(), 8, stream, 0);
  EXPECT_TRUE(at::equal((*stored)->Batch(0), ConvertToBytes((*whole)->Forward(latents), kFrame.scale)));
}

TEST(StoredGenerator, DescribedOneIsMadeAsInItsTrial) {
  TrialSpec spec = MakeStoredSpec();
  spec.generator.network = "mine";
  spec.generator.layers = std::make_shared<const std::string>(
      "linear name=fc out=64; reshape channels=4 height=4 width=4; conv_transpose name=up out=1 kernel=4 stride=4; "
      "tanh");
  const auto whole = Generator::Create(kStoredFrame.shape, MakeGeneratorSettings(spec, kStoredFrame.scale),
                                       RngStream(1, Purpose::parameters));
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  const auto blobs = (*whole)->parameters().ToBlobs("generator/");
  const auto stored = LoadGenerator(spec, kStoredFrame, blobs, 5);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  const RngStream stream(5, Purpose::generator_latents, ~std::uint64_t{0});
  const at::Tensor latents = DrawNormalRows((*stored)->batch(), 8, stream, 0);
  EXPECT_TRUE(at::equal((*stored)->Batch(0), ConvertToBytes((*whole)->Forward(latents), kStoredFrame.scale)));
  EXPECT_EQ(LoadGenerator(MakeStoredSpec(), kStoredFrame, blobs, 5).status().code(), StatusCode::damage);
}

TEST(StoredGenerator, MissingOrOtherParametersAreRefused) {
  EXPECT_EQ(LoadGenerator(MakeStoredSpec(), kStoredFrame, {}, 0).status().code(), StatusCode::usage);
  std::vector<storage::TensorBlob> fewer = MakeParameters();
  fewer.pop_back();
  EXPECT_EQ(LoadGenerator(MakeStoredSpec(), kStoredFrame, fewer, 0).status().code(), StatusCode::damage);
  TrialSpec wider = MakeStoredSpec();
  wider.generator.width = 8;
  EXPECT_EQ(LoadGenerator(wider, kStoredFrame, MakeParameters(), 0).status().code(), StatusCode::damage);
}

TEST(StoredGenerator, BytesAreNormalisedAsDataIs) {
  const at::Tensor bytes = at::arange(256, at::kByte).view({1, 1, 16, 16});
  const at::Tensor images = NormaliseImages(bytes, kStoredFrame.scale);
  for (const std::int64_t level : {0, 1, 128, 255})
    EXPECT_EQ(images.view({-1})[level].item<float>(),
              static_cast<float>((static_cast<double>(level) / 255.0 - 0.2) / 0.4));
  EXPECT_TRUE(at::equal(ConvertToBytes(images, kStoredFrame.scale), bytes));
}

}  // namespace
}  // namespace retort::worker::samples
