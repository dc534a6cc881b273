#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "experiments/methods/networks.h"
#include "worker/models/ensemble.h"
#include "worker/models/generators.h"
#include "worker/models/model_registry.h"
#include "worker/models/saved_models.h"

namespace retort::worker {
namespace {

const RngStream kStream(1, Purpose::parameters);

std::unique_ptr<Network> Make(const std::string& name, ImageShape shape, std::int64_t classes) {
  return std::move(MakeNetwork(name, shape, classes, kStream)).value();
}

TEST(Datalens, HasTheParameterCountsOfItsPaper) {
  EXPECT_EQ(Make("datalens", {1, 28, 28}, 10)->parameters().parameter_count(), 515'146);
  EXPECT_EQ(Make("datalens", {3, 32, 32}, 10)->parameters().parameter_count(), 712'330);
  EXPECT_EQ(Make("datalens", {3, 32, 32}, 100)->parameters().parameter_count(), 718'180);
  EXPECT_EQ(Make("datalens", {3, 64, 64}, 2)->parameters().parameter_count(), 3'464'322);
}

TEST(TanhCnn, HasTheParameterCountOfTheDpSgdLiterature) {
  EXPECT_EQ(Make("tanh-cnn", {1, 28, 28}, 10)->parameters().parameter_count(), 26'010);
}

TEST(Networks, GiveLogitsAndFeaturesForEveryRow) {
  for (const std::string name : {"datalens", "datalens-x0.125", "tanh-cnn", "logistic", "wrn16-1", "conv-small"}) {
    const auto network = Make(name, {1, 28, 28}, 10);
    const NetworkOutput out = network->Forward(at::randn({3, 1, 28, 28}));
    EXPECT_EQ(out.logits.sizes(), (std::vector<std::int64_t>{3, 10})) << name;
    EXPECT_EQ(out.features.size(0), 3) << name;
  }
}

TEST(Networks, LayoutOfTheInputDoesNotChangeTheAnswer) {
  const auto network = Make("datalens", {3, 32, 32}, 10);
  const at::Tensor images = at::randn({4, 3, 32, 32});
  const at::Tensor plain = network->Forward(images).logits;
  const at::Tensor last = network->Forward(images.contiguous(at::MemoryFormat::ChannelsLast)).logits;
  EXPECT_TRUE(at::allclose(plain, last, 1e-4, 1e-5));
}

TEST(Networks, DropoutIsAFunctionOfItsStream) {
  const auto network = Make("datalens", {1, 28, 28}, 10);
  const at::Tensor images = at::randn({2, 1, 28, 28});
  const DropoutMasks a(RngStream(3, Purpose::dropout, 1)), b(RngStream(3, Purpose::dropout, 2));
  EXPECT_TRUE(network->Forward(images, a).logits.equal(network->Forward(images, a).logits));
  EXPECT_FALSE(network->Forward(images, a).logits.equal(network->Forward(images, b).logits));
  EXPECT_TRUE(network->Forward(images).logits.equal(network->Forward(images).logits));
}

TEST(ModelRegistry, UnknownNameListsTheChoices) {
  const auto made = MakeNetwork("datalense", {}, 10, kStream);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::usage);
  EXPECT_NE(made.status().message().find("datalens, datalens-x0.125, tanh-cnn, logistic"), std::string::npos);
}

TEST(ModelRegistry, TooSmallImagesAreRefused) {
  EXPECT_FALSE(MakeNetwork("tanh-cnn", {1, 13, 13}, 10, kStream).ok());
  EXPECT_TRUE(MakeNetwork("tanh-cnn", {1, 14, 14}, 10, kStream).ok());
  EXPECT_FALSE(MakeNetwork("datalens", {1, 7, 7}, 10, kStream).ok());
  EXPECT_TRUE(MakeNetwork("datalens", {1, 8, 8}, 10, kStream).ok());
}

TEST(ParameterArena, RoundTripsThroughBlobs) {
  const auto from = Make("tanh-cnn", {1, 28, 28}, 10);
  auto to = std::move(MakeNetwork("tanh-cnn", {1, 28, 28}, 10, RngStream(2, Purpose::parameters))).value();
  ASSERT_FALSE(to->parameters().flat().equal(from->parameters().flat()));
  const auto blobs = from->parameters().ToBlobs("student/");
  EXPECT_EQ(blobs[0].name, "student/conv1.weight");
  EXPECT_EQ(from->StateBlobs("student/"), blobs);
  ASSERT_TRUE(to->parameters().FromBlobs("student/", blobs).ok());
  EXPECT_TRUE(to->parameters().flat().equal(from->parameters().flat()));
  EXPECT_FALSE(to->parameters().FromBlobs("teacher/", blobs).ok());
}

TEST(Generator, ImagesAreNormalisedLikeTrainingData) {
  auto generator = std::move(Generator::Create({1, 28, 28}, 100, 32, kStream)).value();
  const at::Tensor images = generator->Forward(at::randn({64, 100}));
  EXPECT_EQ(images.sizes(), (std::vector<std::int64_t>{64, 1, 28, 28}));
  EXPECT_NEAR(images.mean().item<double>(), 0, 1e-4);
  EXPECT_NEAR(images.std().item<double>(), 1, 1e-2);
}

TEST(Generator, NeedsExtentsThatHalveTwice) { EXPECT_FALSE(Generator::Create({1, 30, 28}, 100, 32, kStream).ok()); }

TEST(Generator, DoublesLargeImagesFiveTimes) {
  EXPECT_FALSE(Generator::Create({3, 144, 128}, 10, 8, kStream).ok());
  const auto generator = std::move(Generator::Create({3, 160, 128}, 10, 8, kStream)).value();
  EXPECT_EQ(generator->parameters().shapes().front().shape, (std::vector<std::int64_t>{8 * 5 * 4, 10}));
  EXPECT_EQ(generator->parameters().shapes().back().name, "conv6.bias");
  const at::Tensor images = generator->Forward(at::randn({4, 10}));
  EXPECT_EQ(images.sizes(), (std::vector<std::int64_t>{4, 3, 160, 128}));
  EXPECT_NEAR(images.mean().item<double>(), 0, 1e-4);
  EXPECT_EQ(Generator::Create({1, 124, 124}, 10, 8, kStream).value()->parameters().shapes().back().name, "conv3.bias");
}

GeneratorSettings Fast(std::int64_t latent, std::int64_t width) {
  GeneratorSettings settings;
  settings.network = GeneratorNetwork::fast;
  settings.latent = latent;
  settings.width = width;
  return settings;
}

// Fast-Datafree's and DENSE's for CIFAR-10, with nz = 256 and ngf = 64.
TEST(FastGenerator, HasTheParametersOfTheAuthorsNetwork) {
  const auto generator = Generator::Create({3, 32, 32}, Fast(256, 128), kStream).value();
  const std::int64_t first = 256 * 128 * 64 + 128 * 64 + 2 * 128;
  EXPECT_EQ(generator->parameters().parameter_count(),
            first + 128 * 128 * 9 + 2 * 128 + 128 * 64 * 9 + 2 * 64 + 64 * 3 * 9 + 3);
}

TEST(FastGenerator, PixelsAreNormalisedAsTheData) {
  GeneratorSettings settings = Fast(20, 16);
  const at::Tensor latents = at::randn({40, 20});
  const at::Tensor pixels = Generator::Create({3, 8, 12}, settings, kStream).value()->Forward(latents);
  EXPECT_GT(pixels.min().item<double>(), 0);
  EXPECT_LT(pixels.max().item<double>(), 1);
  settings.scale = {{0.2, 0.5, 0.7}, {0.3, 0.25, 2}};
  const at::Tensor images = Generator::Create({3, 8, 12}, settings, kStream).value()->Forward(latents);
  for (std::int64_t channel = 0; channel < 3; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const at::Tensor want = (pixels.select(1, channel) - settings.scale.mean[c]) / settings.scale.std[c];
    EXPECT_TRUE(at::allclose(images.select(1, channel), want, 1e-5, 1e-6)) << channel;
  }
}

TEST(FastGenerator, DoublesLargeImagesFiveTimes) {
  const auto generator = Generator::Create({3, 128, 160}, Fast(10, 8), kStream).value();
  EXPECT_EQ(generator->Forward(at::randn({4, 10})).sizes(), (std::vector<std::int64_t>{4, 3, 128, 160}));
}

TEST(Generator, StartsNormalWhereADeviationIsGiven) {
  GeneratorSettings settings = Fast(100, 64);
  settings.deviation = 0.02;
  const auto generator = Generator::Create({1, 28, 28}, settings, kStream).value();
  const ParameterArena& parameters = generator->parameters();
  for (std::size_t i = 0; i < parameters.shapes().size(); ++i) {
    const at::Tensor values = parameters.leaves()[i].detach();
    const std::string& name = parameters.shapes()[i].name;
    if (name.ends_with(".bias")) {
      EXPECT_EQ(values.abs().max().item<double>(), 0) << name;
    } else if (values.numel() > 1000) {
      EXPECT_NEAR(values.std().item<double>(), 0.02, 2e-3) << name;
      EXPECT_NEAR(values.mean().item<double>(), 0, 2e-3) << name;
    } else if (name.starts_with("bn")) {
      EXPECT_NEAR(values.mean().item<double>(), 1, 0.02) << name;
    }
  }
}

TEST(LogisticEnsemble, SharedAndOwnAnswersAgree) {
  LogisticEnsemble ensemble(5, {1, 4, 4}, 3, kStream);
  const at::Tensor images = at::randn({7, 1, 4, 4});
  const at::Tensor shared = ensemble.ForwardShared(images);
  const at::Tensor own = ensemble.ForwardOwn(images.flatten(1).unsqueeze(0).expand({5, 7, 16}));
  EXPECT_EQ(shared.sizes(), (std::vector<std::int64_t>{5, 7, 3}));
  EXPECT_TRUE(at::allclose(shared, own, 1e-5, 1e-6));
}

TEST(DisjointShards, HoldEveryIndexAtMostOnce) {
  const at::Tensor shards = MakeDisjointShards(1003, 10);
  EXPECT_EQ(shards.sizes(), (std::vector<std::int64_t>{10, 100}));
  const at::Tensor sorted = std::get<0>(shards.flatten().sort());
  EXPECT_TRUE((sorted.slice(0, 1) > sorted.slice(0, 0, -1)).all().item<bool>());
  EXPECT_LT(sorted[-1].item<std::int64_t>(), 1003);
}

TEST(LoadedWeights, ClassCountComesFromTheFile) {
  for (const std::string& name : ListNetworkNames()) {
    const NamedNetwork& network = *FindNetwork(name);
    const std::int64_t side = network.min_extent > 32 ? 224 : 32;
    const ImageShape image{network.channels == 0 ? 3 : network.channels, side, side};
    const Result<std::vector<StateEntry>> state = PlanState(name, image, 7);
    ASSERT_TRUE(state.ok()) << name << ": " << state.status().message();
    std::vector<storage::TensorBlob> saved;
    for (const StateEntry& entry : *state) saved.push_back({"module." + entry.name, entry.dtype, entry.shape, {}});
    EXPECT_EQ(InferClasses(name, image, saved), 7) << name;
  }
}

TEST(LoadedWeights, ImagesAreThoseOfTheFile) {
  std::vector<storage::TensorBlob> saved;
  const std::vector<StateEntry> state = PlanState("hog-linear", {3, 64, 64}, 3).value();
  for (const StateEntry& entry : state) saved.push_back({entry.name, entry.dtype, entry.shape, {}});
  EXPECT_EQ(InferClasses("hog-linear", {1, 28, 28}, saved), 3);
  const ImageShape image = InferImageShape("hog-linear", {1, 28, 28}, 3, saved);
  EXPECT_EQ(image.height, 64);
  EXPECT_EQ(InferImageShape("resnet18", {3, 224, 224}, 3, saved), (ImageShape{3, 224, 224})) << "nothing fits";
}

}  // namespace
}  // namespace retort::worker
