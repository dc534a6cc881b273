// Generators that a sweep file describes, beside the zoo's.
#include "worker/models/described_generator.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "worker/models/arenas.h"
#include "worker/tensors/autograd.h"

namespace retort::worker {
namespace {

const RngStream kDrawn(3, Purpose::parameters);

std::shared_ptr<const std::string> Text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// DAFL's of width 8, for images of 16 x 12 pixels.
const std::string kDafl =
    "linear name=fc out=96; reshape channels=8 height=4 width=3; batch_norm name=bn0; upsample; "
    "conv name=conv1 out=8 kernel=3 padding=1; batch_norm name=bn1 epsilon=0.8; leaky slope=0.2; upsample; "
    "conv name=conv2 out=4 kernel=3 padding=1; batch_norm name=bn2 epsilon=0.8; leaky slope=0.2; "
    "conv name=conv3 out=3 kernel=3 padding=1; tanh; batch_norm name=end affine=false";
// Fast-Datafree's.
const std::string kFast =
    "linear name=fc out=96; reshape channels=8 height=4 width=3; batch_norm name=bn0; upsample; "
    "conv name=conv1 out=8 kernel=3 padding=1 bias=false; batch_norm name=bn1; leaky slope=0.2; upsample; "
    "conv name=conv2 out=4 kernel=3 padding=1 bias=false; batch_norm name=bn2; leaky slope=0.2; "
    "conv name=conv3 out=3 kernel=3 padding=1; sigmoid";
// DP-MERF's.
const std::string kMerf =
    "linear name=fc1 out=20; batch_norm name=bn1; relu; linear name=fc2 out=96; batch_norm name=bn2; "
    "reshape channels=8 height=4 width=3; upsample bilinear=true; conv name=conv1 out=4 kernel=5 padding=2; relu; "
    "upsample bilinear=true; conv name=conv2 out=3 kernel=5 padding=2; sigmoid";

GeneratorSettings MakeSettings(GeneratorNetwork network, const std::string& layers = "") {
  GeneratorSettings settings;
  settings.network = network;
  settings.latent = 10;
  settings.width = 8;
  settings.scale = {{0.2, 0.5, 0.7}, {0.3, 0.25, 2}};
  if (!layers.empty()) settings.layers = Text(layers);
  return settings;
}

std::unique_ptr<Generator> Make(const GeneratorSettings& settings, ImageShape image = {3, 16, 12}) {
  auto made = Generator::Create(image, settings, kDrawn);
  if (made.ok()) return std::move(made).value();
  ADD_FAILURE() << made.status().message();
  return nullptr;
}

// The same parameters from the same seed, the same images, and the same gradients, to the last bit.
TEST(DescribedGenerators, AreTheZoosOfTheSameSeed) {
  const std::pair<GeneratorNetwork, std::string> twins[] = {{GeneratorNetwork::dafl, kDafl},
                                                            {GeneratorNetwork::fast, kFast}};
  for (const auto& [network, layers] : twins) {
    const auto zoo = Make(MakeSettings(network)), mine = Make(MakeSettings(network, layers));
    ASSERT_NE(mine, nullptr);
    EXPECT_EQ(mine->parameters().parameter_count(), zoo->parameters().parameter_count());
    EXPECT_EQ(mine->parameters().ToBlobs(""), zoo->parameters().ToBlobs(""));
    const at::Tensor latents = at::randn({6, 10});
    const at::Tensor images = mine->Forward(latents), others = zoo->Forward(latents);
    EXPECT_TRUE(images.equal(others));
    const at::Tensor seed = at::randn(images.sizes());
    const auto gradients = ComputeVectorJacobian({images}, {seed}, mine->parameters().leaves());
    const auto wanted = ComputeVectorJacobian({others}, {seed}, zoo->parameters().leaves());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(gradients[i].equal(wanted[i])) << zoo->parameters().shapes()[i].name;
  }
}

TEST(DescribedGenerators, StartNormalAsTheZoos) {
  GeneratorSettings zoo = MakeSettings(GeneratorNetwork::fast), mine = MakeSettings(GeneratorNetwork::dafl, kFast);
  zoo.deviation = mine.deviation = 0.02;
  EXPECT_TRUE(Make(mine)->parameters().flat().equal(Make(zoo)->parameters().flat()));
}

TEST(DescribedGenerators, OfAClassIsTheZoos) {
  ConditionalGeneratorSettings settings{.code = 5, .hidden = 20, .width = 8};
  const auto zoo = ConditionalGenerator::Create({3, 16, 12}, 4, settings, kDrawn).value();
  settings.layers = Text(kMerf);
  const auto mine = ConditionalGenerator::Create({3, 16, 12}, 4, settings, kDrawn).value();
  EXPECT_EQ(mine->code(), 5);
  EXPECT_EQ(mine->parameters().ToBlobs(""), zoo->parameters().ToBlobs(""));
  const at::Tensor latents = at::randn({6, 5}), labels = at::arange(6).remainder(4);
  const at::Tensor pixels = mine->Forward(latents, labels);
  EXPECT_TRUE(at::allclose(pixels, zoo->Forward(latents, labels), 1e-5, 1e-6));  // another layout of planes
  EXPECT_FALSE(at::allclose(pixels, mine->Forward(latents, (labels + 1).remainder(4))));
}

const std::string kTransposed =
    "reshape channels=10 height=1 width=1; conv_transpose name=t1 out=6 kernel=3; group_norm name=n groups=2; relu; "
    "conv_transpose name=t2 out=4 kernel=4 stride=2 padding=1 groups=2 bias=false; gelu; "
    "conv_transpose name=t3 out=1 kernel=3 stride=2 padding=1 output_padding=1; ";

TEST(DescribedGenerators, PixelsAreBroughtToTheData) {
  GeneratorSettings settings = MakeSettings(GeneratorNetwork::dafl, kTransposed + "tanh");
  settings.scale = {{}, {}};
  const at::Tensor latents = at::randn({5, 10}) * 40;
  const at::Tensor pixels = Make(settings, {1, 12, 12})->Forward(latents);
  EXPECT_EQ(pixels.sizes(), (std::vector<std::int64_t>{5, 1, 12, 12}));
  EXPECT_GE(pixels.min().item<double>(), 0);
  EXPECT_LE(pixels.max().item<double>(), 1);
  // (tanh(x) + 1) / 2 is the sigmoid of 2 x
  settings.layers = Text(kTransposed + "sigmoid");
  const at::Tensor halves = Make(settings, {1, 12, 12})->Forward(latents);
  EXPECT_TRUE(at::allclose(pixels, at::sigmoid(2 * at::logit(halves)), 1e-4, 1e-5));
  settings.layers = Text(kTransposed + "tanh");
  settings.scale = {{0.2}, {0.3}};
  EXPECT_TRUE(Make(settings, {1, 12, 12})->Forward(latents).equal((pixels - 0.2) / 0.3));
}

// 1 / 41 is less in float32, and 41 times it below 1: a pixel would be that of its neighbour.
TEST(DescribedGenerators, EachPixelIsRepeatedByTheFactor) {
  for (const std::int64_t factor : {3, 41, 47, 55, 61}) {
    const std::string upsample = "upsample factor=" + std::to_string(factor);
    const std::string start = "linear name=fc out=9; reshape channels=1 height=3 width=3; ";
    GeneratorSettings settings = MakeSettings(GeneratorNetwork::dafl, start + "sigmoid");
    settings.scale = {{}, {}};
    const at::Tensor latents = at::randn({2, 10});
    const at::Tensor small = Make(settings, {1, 3, 3})->Forward(latents);
    settings.layers = Text(start + upsample + "; sigmoid");
    const auto enlarged = Make(settings, {1, 3 * factor, 3 * factor});
    ASSERT_NE(enlarged, nullptr) << factor;
    const at::Tensor large = enlarged->Forward(latents);
    EXPECT_TRUE(at::allclose(large, small.repeat_interleave(factor, 2).repeat_interleave(factor, 3), 1e-5, 1e-6))
        << factor;
  }
}

// As torch.nn.ConvTranspose2d does: uniform on +-1 / sqrt(out / groups x kernel^2).
TEST(DescribedGenerators, TransposedWeightsBeginAsPyTorchs) {
  const auto made = Make(MakeSettings(GeneratorNetwork::dafl, kTransposed + "sigmoid"), {1, 12, 12});
  const ParameterShape& weight = made->parameters().shapes().front();
  EXPECT_EQ(weight.name, "t1.weight");
  EXPECT_EQ(weight.shape, (std::vector<std::int64_t>{10, 6, 3, 3}));
  EXPECT_DOUBLE_EQ(weight.bound, 1 / std::sqrt(6 * 9.0));
  EXPECT_EQ(made->parameters().shapes()[4].shape, (std::vector<std::int64_t>{6, 2, 4, 4}));
}

TEST(DescribedGenerators, WhatDoesNotFitIsRefused) {
  const auto refused = [](const std::string& layers, ImageShape image = {3, 16, 12}) {
    return Generator::Create(image, MakeSettings(GeneratorNetwork::dafl, layers), kDrawn).status();
  };
  EXPECT_EQ(refused(kFast, {3, 16, 16}).code(), StatusCode::usage);
  EXPECT_NE(refused(kFast, {3, 16, 16}).message().find("makes [3, 16, 12], and the pictures are [3, 16, 16]"),
            std::string::npos);
  EXPECT_EQ(refused("flatten; linear name=fc out=classes").code(), StatusCode::usage);
  EXPECT_EQ(refused("reshape channels=0 height=1 width=1; tanh").code(), StatusCode::damage);
  ConditionalGeneratorSettings settings{.code = 6, .layers = Text(kDafl)};
  EXPECT_EQ(ConditionalGenerator::Create({3, 16, 12}, 4, settings, kDrawn).status().code(), StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker
