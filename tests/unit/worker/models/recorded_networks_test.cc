// A training step of every family of networks, recorded: the bits of the step as it is.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/testing/pretend_device.h"
#include "tests/unit/worker/gang/twin_gang.h"
#include "worker/gang/collective_decorators.h"
#include "worker/gang/local_collective.h"
#include "worker/models/features/fit_features.h"
#include "worker/models/model_registry.h"
#include "worker/training/learner.h"

namespace retort::worker {
namespace {

using retort::testing::CheckPretendReplays;
using retort::testing::PretendDevice;
using retort::testing::PretendGraphDevice;

struct RecordedFamily {
  std::string name;  // of the registry, or one of the three below
  ImageShape image;
  Optimizer optimizer = Optimizer::adam;
};

// vit_b_16 with one narrow block.
std::vector<Layer> NarrowTransformer(std::int64_t classes) {
  using Kind = LayerKind;
  constexpr std::int64_t kWidth = 8;
  return {{.kind = Kind::conv, .name = "patches", .out = kWidth, .kernel = 4, .stride = 4},
          {.kind = Kind::class_token, .name = "class", .out = kWidth, .init = Init::normal, .spread = 0.1},
          {.kind = Kind::tokens, .name = "positions", .inputs = {0, 1}, .init = Init::normal, .spread = 0.02},
          {.kind = Kind::layer_norm, .name = "norm1"},
          {.kind = Kind::linear, .name = "qkv", .out = 3 * kWidth},
          {.kind = Kind::attention, .groups = 2},
          {.kind = Kind::linear, .name = "out", .out = kWidth},
          {.kind = Kind::add, .inputs = {6, 2}},
          {.kind = Kind::layer_norm, .name = "norm2"},
          {.kind = Kind::linear, .name = "up", .out = 2 * kWidth},
          {.kind = Kind::gelu},
          {.kind = Kind::dropout, .rate = 0.1},
          {.kind = Kind::linear, .name = "down", .out = kWidth},
          {.kind = Kind::add, .inputs = {12, 7}},
          {.kind = Kind::first_token},
          {.kind = Kind::linear, .name = "head", .out = classes}};
}

// Kinds of layers that only the largest networks have besides.
std::vector<Layer> RareLayers(std::int64_t classes) {
  using Kind = LayerKind;
  return {{.kind = Kind::affine, .scale = {0.5, 1, 2}, .shift = {0.1, 0, -0.1}},
          {.kind = Kind::conv, .name = "conv", .out = 6, .kernel = 3, .padding = 1},
          {.kind = Kind::relu6},
          {.kind = Kind::avg_pool, .kernel = 2, .stride = 2},
          {.kind = Kind::leaky, .rate = 0.2},
          {.kind = Kind::max_pool, .kernel = 3, .stride = 2, .ceil = true},
          {.kind = Kind::adaptive_avg_pool, .out = 2},
          {.kind = Kind::flatten},
          {.kind = Kind::dropout, .rate = 0.5},
          {.kind = Kind::linear, .name = "head", .out = classes}};
}

// The frozen features of hog-, patch- and scattering-linear beside each other, few of each.
std::vector<Layer> FrozenFeatures(std::int64_t classes) {
  using Kind = LayerKind;
  return {{.kind = Kind::patches, .name = "patches", .out = 6, .kernel = 6, .rate = 0.25, .inputs = {kImages}},
          {.kind = Kind::hog, .out = 8, .kernel = 8, .stride = 4, .padding = 2, .rate = 0.7, .inputs = {kImages}},
          {.kind = Kind::scattering, .out = 2, .inputs = {kImages}},
          {.kind = Kind::concat, .inputs = {0, 1, 2}},
          {.kind = Kind::whiten, .name = "whiten", .out = 20, .rate = 0.3, .spread = 0.1},
          {.kind = Kind::linear, .name = "fc", .out = classes, .bias = false, .init = Init::zero}};
}

std::unique_ptr<Network> MakeFamily(const RecordedFamily& family, std::int64_t classes, at::Device device) {
  const RngStream stream(1, Purpose::parameters);
  if (family.name == "narrow-transformer")
    return std::make_unique<Network>(NarrowTransformer(classes), family.image, stream, device);
  if (family.name == "rare-layers") return std::make_unique<Network>(RareLayers(classes), family.image, stream, device);
  if (family.name == "frozen-features") {
    // Fitted once: that takes a while.
    static const at::Tensor constants = [&] {
      Network fitted(FrozenFeatures(classes), family.image, stream);
      FitFeatures(fitted);
      return fitted.buffers().constants().clone();
    }();
    auto network = std::make_unique<Network>(FrozenFeatures(classes), family.image, stream, device);
    network->buffers().constants().copy_(constants);
    return network;
  }
  return std::move(MakeNetwork(family.name, family.image, classes, stream, device)).value();
}

class RecordedNetwork : public ::testing::TestWithParam<RecordedFamily> {
 protected:
  static constexpr int kSteps = 4;  // two as they are, one that is recorded, one that repeats it
  static constexpr std::int64_t kRows = 3, kClasses = 4;

  ~RecordedNetwork() override { CheckPretendReplays(false); }

  static std::unique_ptr<Learner> Make(at::Device device, Collective& gang, StepGraphs* graphs) {
    LearnerSettings settings;
    settings.graphs = graphs;
    settings.optimizer = GetParam().optimizer;
    return std::make_unique<Learner>(MakeFamily(GetParam(), kClasses, device), gang, settings);
  }

  static double Teach(Learner& learner, int step, at::Device device) {
    const auto at_step = static_cast<std::uint64_t>(step);
    const ImageShape& image = GetParam().image;
    const at::Tensor shape = at::empty({kRows, image.channels, image.height, image.width});
    const at::Tensor images = DrawNormalTensor(shape.sizes(), 1, RngStream(2, Purpose::latents, at_step));
    const at::Tensor targets = MakeOneHotTargets(at::arange(kRows) % kClasses, kClasses, 0.1);
    const Minibatch batch{images.to(device), targets.to(device), 0, kRows};
    return learner.Teach(batch, 1e-3 * (1 + step), RngStream(3, Purpose::dropout, at_step), 1).value().item<double>();
  }
};

TEST_P(RecordedNetwork, TrainsWithTheBitsOfAStepAsItIs) {
  CheckPretendReplays(true);
  const auto solo = MakeSoloCollective();
  StepGraphs graphs(PretendGraphDevice(), PretendDevice());
  const auto want = Make(PretendDevice(), *solo, nullptr), got = Make(PretendDevice(), *solo, &graphs);
  for (int step = 0; step < kSteps; ++step)
    EXPECT_EQ(Teach(*got, step, PretendDevice()), Teach(*want, step, PretendDevice())) << step;
  EXPECT_TRUE(at::equal(got->network().parameters().flat().cpu(), want->network().parameters().flat().cpu()));
  if (!want->network().buffers().empty()) {
    EXPECT_TRUE(at::equal(got->network().buffers().flat().cpu(), want->network().buffers().flat().cpu()));
  }
  const RegionUse use = graphs.Uses().at(1);
  EXPECT_EQ(use.name, "teach");
  EXPECT_EQ(use.declined, "");
  EXPECT_EQ(use.replayed, 2);
}

// Sums of gradients and statistics are parts of what is recorded.
class RecordedMember : public RecordedNetwork {};

TEST_P(RecordedMember, TrainsWithTheBitsOfAGangsStepAsItIs) {
  CheckPretendReplays(true);
  TwinGang plain;
  WatchedCollective gang(std::make_unique<TwinGang>());
  StepGraphs graphs(PretendGraphDevice(), PretendDevice(), &gang);
  const auto want = Make(PretendDevice(), plain, nullptr), got = Make(PretendDevice(), gang, &graphs);
  for (int step = 0; step < kSteps; ++step)
    EXPECT_EQ(Teach(*got, step, PretendDevice()), Teach(*want, step, PretendDevice())) << step;
  EXPECT_TRUE(at::equal(got->network().parameters().flat().cpu(), want->network().parameters().flat().cpu()));
  EXPECT_TRUE(at::equal(got->network().buffers().flat().cpu(), want->network().buffers().flat().cpu()));
  const RegionUse use = graphs.Uses().at(1);
  EXPECT_EQ(use.declined, "");
  EXPECT_EQ(use.replayed, 2);
}

INSTANTIATE_TEST_SUITE_P(Members, RecordedMember,
                         ::testing::Values(RecordedFamily{"datalens", {1, 16, 16}},
                                           RecordedFamily{"bn-cnn", {1, 16, 16}}),
                         [](const auto& test) { return test.index == 0 ? "Plain" : "BatchNorms"; });

INSTANTIATE_TEST_SUITE_P(
    Families, RecordedNetwork,
    ::testing::Values(RecordedFamily{"datalens", {1, 16, 16}}, RecordedFamily{"tanh-cnn", {1, 16, 16}},
                      RecordedFamily{"logistic", {1, 8, 8}}, RecordedFamily{"hog-linear", {1, 16, 16}},
                      RecordedFamily{"frozen-features", {3, 16, 16}},
                      RecordedFamily{"wrn16-1", {3, 16, 16}, Optimizer::sgd}, RecordedFamily{"wrn16-1-gn", {3, 16, 16}},
                      RecordedFamily{"mobilenet_v2", {3, 16, 16}}, RecordedFamily{"shufflenet_v2_x1_0", {3, 16, 16}},
                      RecordedFamily{"googlenet", {3, 16, 16}},
                      RecordedFamily{"googlenet-transform-input", {3, 16, 16}},
                      RecordedFamily{"conv-small-mnist", {1, 16, 16}}, RecordedFamily{"bn-cnn", {1, 16, 16}},
                      RecordedFamily{"dense-mnist", {1, 16, 16}}, RecordedFamily{"dense-cifar10-small", {3, 20, 20}},
                      RecordedFamily{"cnn-128", {1, 16, 16}}, RecordedFamily{"narrow-transformer", {3, 16, 16}},
                      RecordedFamily{"rare-layers", {3, 16, 16}}),
    [](const auto& test) {
      std::string name = test.param.name;
      for (char& c : name)
        if (c == '-') c = '_';
      return name;
    });

}  // namespace
}  // namespace retort::worker
