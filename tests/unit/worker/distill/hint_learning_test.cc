// Where hints go, and what they do to the student.
#include "worker/distill/hint_learning.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "worker/gang/local_collective.h"
#include "worker/models/model_registry.h"
#include "worker/models/training_scopes.h"
#include "worker/release/loss_noise.h"

namespace retort::worker {
namespace {

std::unique_ptr<Network> Make(const std::string& name, ImageShape shape) {
  return std::move(MakeNetwork(name, shape, 10, RngStream(1, Purpose::parameters))).value();
}

Result<MiddleLayer> FindHint(const std::string& name, ImageShape shape) {
  const std::vector<Layer> layers = MakeLayers(name, 10).value();
  return FindHintLayer(layers, PlanLayers(layers, shape).value(), shape);
}

Result<MiddleLayer> GuidedBy(const std::string& teacher, const std::string& student, ImageShape shape) {
  return FindGuidedLayer(PlanLayers(MakeLayers(student, 10).value(), shape).value(), FindHint(teacher, shape).value());
}

TEST(HintLayers, AreThoseOfTheAuthorsCode) {
  const MiddleLayer hint = FindHint("conv-large", {3, 32, 32}).value();
  EXPECT_EQ(hint.channels, 128);
  EXPECT_EQ(hint.height, 16);
  const MiddleLayer guided = GuidedBy("conv-large", "conv-small", {3, 32, 32}).value();
  EXPECT_EQ(guided.channels, 64);
  EXPECT_EQ(guided.height, 16);
  const std::vector<Layer> layers = MakeLayers("conv-small", 10).value();
  EXPECT_EQ(layers[guided.place].kind, LayerKind::leaky);
  EXPECT_EQ(layers[guided.place - 1].name, "conv2c");
}

// Inside a residual block the shortcut goes past every layer but the last.
TEST(HintLayers, NothingBehindThemReadsAnythingBeforeThem) {
  const ImageShape shape{3, 32, 32};
  const std::vector<Layer> layers = MakeLayers("resnet18-cifar", 10).value();
  const LayerPlan plan = PlanLayers(layers, shape).value();
  const MiddleLayer hint = FindHintLayer(layers, plan, shape).value();
  EXPECT_EQ(hint.channels, 128) << "no max-pool: the first with fewer pixels";
  EXPECT_EQ(hint.height, 16);
  for (const std::size_t place : {hint.place, FindGuidedLayer(plan, hint).value().place})
    for (std::size_t i = place + 1; i < layers.size(); ++i)
      for (const std::int32_t input : plan.nodes[i].inputs) EXPECT_GE(input, static_cast<std::int32_t>(place));
}

TEST(HintLayers, NetworksWithoutOneSayWhatIsMissing) {
  EXPECT_NE(FindHint("logistic", {1, 28, 28}).status().message().find("no layer to take a hint from"),
            std::string::npos);
  const Status status = GuidedBy("tanh-cnn", "conv-small", {1, 28, 28}).status();
  EXPECT_NE(status.message().find("no layer of 13 x 13 pixels"), std::string::npos) << status.message();
}

TEST(Network, RunsUpToALayerAsItDoesOnTheWay) {
  const auto network = Make("resnet18-cifar", {3, 16, 16});
  const MiddleLayer hint = FindHint("resnet18-cifar", {3, 16, 16}).value();
  const at::Tensor images = at::randn({4, 3, 16, 16});
  LayerTrace trace;
  const at::Tensor logits = network->Forward(images, std::nullopt, &trace).logits;
  EXPECT_TRUE(network->ForwardTo(network->layers().size() - 1, images).equal(logits));
  EXPECT_EQ(network->ForwardTo(hint.place, images).sizes(), (at::IntArrayRef{4, 128, 8, 8}));
  static_cast<void>(network->TrainTo(hint.place, images, std::nullopt));
  const at::Tensor counts = network->buffers().counts();
  EXPECT_EQ(counts[0].item<std::int64_t>(), 1);
  EXPECT_EQ(counts[counts.size(0) - 1].item<std::int64_t>(), 0) << "behind the hint";
}

TEST(StatisticsGuard, TakesBackAPassThatCameToNothing) {
  const auto network = Make("resnet18-cifar", {3, 16, 16});
  const auto before = network->StateBlobs("");
  {
    const StatisticsGuard guard(*network);
    static_cast<void>(network->Train(at::randn({4, 3, 16, 16}), std::nullopt));
    EXPECT_NE(network->StateBlobs(""), before);
  }
  EXPECT_EQ(network->StateBlobs(""), before);
}

class Hints : public ::testing::Test {
 protected:
  static constexpr ImageShape kShape{1, 12, 12};
  Hints()
      : student_(Make("conv-small-mnist", kShape)),
        guided_(GuidedBy("conv-small", "conv-small-mnist", kShape).value()),
        learning_(*student_, guided_, 32, *solo_, RngStream(2, Purpose::parameters), {}, Precision::float32) {}

  QueryBatch Batch() const { return {0, at::arange(5), 0, images_}; }
  at::Tensor Adapted() { return learning_.Adapted(Batch(), RngStream(1, Purpose::dropout)); }
  double Loss() {
    return (Adapted().detach().to(at::kDouble) - hint_.to(at::kDouble)).square().sum().item<double>() / 2;
  }

  std::unique_ptr<Collective> solo_ = MakeSoloCollective();
  std::unique_ptr<Network> student_;
  MiddleLayer guided_;
  HintLearning learning_;
  at::Tensor images_ = at::sin(at::arange(5 * 144, at::kFloat).mul(0.37)).reshape({5, 1, 12, 12});
  at::Tensor hint_ = at::cos(at::arange(5 * 32 * 36, at::kFloat).mul(0.21)).reshape({5, 32, 6, 6});
};

TEST_F(Hints, GradientIsThatOfFiniteDifferences) {
  const at::Tensor adapted = Adapted();
  const at::Tensor gradient =
      learning_.ParameterGradient(adapted, release::HintLosses(hint_, adapted.detach()).gradients).value();
  at::Tensor& flat = student_->parameters().flat();
  const std::vector<std::int64_t>& offsets = student_->parameters().offsets();
  const at::NoGradGuard no_grad;
  for (std::size_t p = 0; p < offsets.size(); ++p) {
    const std::string& name = student_->parameters().shapes()[p].name;
    const double got = gradient[offsets[p]].item<double>();
    if (name.starts_with("conv3") || name.starts_with("fc")) {
      EXPECT_EQ(got, 0) << name << " is behind the guided layer";
      continue;
    }
    constexpr double kStep = 1e-4;
    const float at = flat[offsets[p]].item<float>();
    flat[offsets[p]].fill_(at + kStep);
    const double above = Loss();
    flat[offsets[p]].fill_(at - kStep);
    const double below = Loss();
    flat[offsets[p]].fill_(at);
    const double want = (above - below) / (2 * kStep);
    EXPECT_NEAR(got, want, 0.05 * std::abs(want) + 0.1) << name;
  }
}

TEST_F(Hints, AdapterBeginsAtOneAndLearnsWithTheGuidedPart) {
  const at::Tensor before = student_->parameters().flat().detach().clone();
  TrainState state;
  learning_.Register(state, "hint/");
  const auto adapter = state.Save()[0];
  EXPECT_EQ(adapter.name, "hint/adapter/parameters");
  double first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    const at::Tensor adapted = Adapted();
    const release::RowLosses losses = release::HintLosses(hint_, adapted.detach());
    (step == 0 ? first : last) = losses.losses.mean().item<double>();
    const at::Tensor gradient = learning_.ParameterGradient(adapted, losses.gradients / 5).value();
    ASSERT_TRUE(learning_.Step(gradient, Batch(), 1e-2).ok());
  }
  EXPECT_LT(last, 0.7 * first);
  EXPECT_NE(state.Save()[0], adapter);
  const std::vector<std::int64_t>& offsets = student_->parameters().offsets();
  for (std::size_t p = 0; p < offsets.size(); ++p) {
    const bool behind = student_->parameters().shapes()[p].name.starts_with("conv3");
    const bool moved = !student_->parameters().flat()[offsets[p]].equal(before[offsets[p]]);
    if (behind) {
      EXPECT_FALSE(moved) << student_->parameters().shapes()[p].name;
    }
    if (p == 0) {
      EXPECT_TRUE(moved);
    }
  }
}

TEST(AdapterBias, IsOneAtTheStart) {
  const auto student = Make("conv-small-mnist", {1, 12, 12});
  const auto solo = MakeSoloCollective();
  const MiddleLayer guided = GuidedBy("conv-small", "conv-small-mnist", {1, 12, 12}).value();
  HintLearning learning(*student, guided, 32, *solo, RngStream(2, Purpose::parameters), {}, Precision::float32);
  const at::NoGradGuard no_grad;
  student->parameters().flat().zero_();  // the guided layer says zero
  const at::Tensor adapted =
      learning.Adapted({0, at::arange(3), 0, at::rand({3, 1, 12, 12})}, RngStream(1, Purpose::dropout));
  EXPECT_TRUE(adapted.equal(at::ones({3, 32, 6, 6})));
}

}  // namespace
}  // namespace retort::worker
