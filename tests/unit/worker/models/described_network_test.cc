// Networks that a sweep file describes, beside the zoo's and PyTorch's.
#include "worker/models/described_network.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "experiments/base/digests.h"
#include "experiments/methods/network_layers.h"
#include "experiments/sweep/sweep_plan.h"
#include "tests/unit/worker/models/formula_state.h"
#include "worker/models/layer_plan.h"
#include "worker/models/model_registry.h"
#include "worker/models/saved_models.h"
#include "worker/tensors/autograd.h"
#include "worker/training/per_sample_gradients.h"

namespace retort::worker {
namespace {

const std::string kLast = R"({ kind = "linear", out = "classes", name = "fc2" }])";

// The text that a trial of [network.mine] with these layers carries.
NetworkChoice Described(const std::string& layers) {
  const PlanOutcome outcome = ParseSweep(
      "retort = 1\n[data.d]\nreader = \"idx\"\npath = \"d\"\nsplit = { train = [0, 8], test = [8, 9] }\n"
      "[network.mine]\nlayers = " +
          layers +
          "\n[teacher]\nt = { network = \"mine\" }\n[trial]\nmethod = \"dense\"\nteacher = \"t\"\nstudent = \"mine\"\n",
      "mine.toml", {}, {});
  for (const Diagnostic& error : outcome.errors) ADD_FAILURE() << Render(error);
  if (!outcome.plan) return "logistic";
  return {"mine", outcome.plan->trials.back().layers};
}

std::unique_ptr<Network> Build(const NetworkChoice& choice, ImageShape shape, std::int64_t classes,
                               std::uint64_t seed = 1) {
  auto made = MakeNetwork(choice, shape, classes, RngStream(seed, Purpose::parameters));
  if (!made.ok()) {
    ADD_FAILURE() << made.status().message();
    return nullptr;
  }
  return std::move(made).value();
}

constexpr const char* kResNet20 = R"([
  { kind = "conv", out = 16, kernel = 3, padding = 1, bias = false, name = "conv1" },
  { kind = "batch_norm", name = "bn1" },
  "relu",
  { kind = "basic_block", out = 16, times = 3, name = "layer1" },
  { kind = "basic_block", out = 32, times = 3, stride = 2, shortcut = "A", name = "layer2" },
  { kind = "basic_block", out = 64, times = 3, stride = 2, shortcut = "A", name = "layer3" },
  "spatial_mean",
  { kind = "linear", out = "classes", name = "linear" },
])";

TEST(DescribedNetworks, AreTheZoosUnderEqualWeights) {
  const std::vector<std::pair<std::string, std::string>> twins = {
      {"tanh-cnn",
       R"([{ kind = "conv", out = 16, kernel = 8, stride = 2, padding = 3 }, "tanh", { kind = "max_pool", kernel = 2, stride = 1 },
        { kind = "conv", out = 32, kernel = 4, stride = 2 }, "tanh", { kind = "max_pool", kernel = 2, stride = 1 }, "flatten",
        { kind = "linear", out = 32, name = "fc1" }, "tanh", )" +
           kLast},
      {"datalens",
       R"([{ kind = "conv", out = 32, kernel = 3 }, { kind = "max_pool", kernel = 2 }, { kind = "dropout", rate = 0.2 }, "relu",
        { kind = "conv", out = 64, kernel = 3 }, { kind = "dropout", rate = 0.25 }, "relu", "flatten",
        { kind = "linear", out = 64, name = "fc1" }, "relu", )" +
           kLast},
      {"cnn-128-gn",
       R"([{ kind = "conv", out = 32, kernel = 3, padding = 1, bias = false }, { kind = "group_norm", groups = 32, name = "gn1" }, "relu", { kind = "max_pool", kernel = 2 },
        { kind = "conv", out = 64, kernel = 3, padding = 1, bias = false }, { kind = "group_norm", groups = 32, name = "gn2" }, "relu", { kind = "max_pool", kernel = 2 },
        { kind = "conv", out = 128, kernel = 3, padding = 1, bias = false }, { kind = "group_norm", groups = 32, name = "gn3" }, "relu", { kind = "max_pool", kernel = 2 },
        "flatten", { kind = "linear", out = 128, name = "fc1" }, "relu", )" +
           kLast}};
  for (const auto& [name, layers] : twins) {
    const auto zoo = Build(name, {1, 28, 28}, 10), mine = Build(Described(layers), {1, 28, 28}, 10, 2);
    ASSERT_EQ(mine->state().size(), zoo->state().size()) << name;
    ASSERT_TRUE(mine->LoadState("", zoo->StateBlobs("")).ok()) << name;
    const at::Tensor images = at::randn({4, 1, 28, 28});
    EXPECT_TRUE(mine->Forward(images).logits.equal(zoo->Forward(images).logits)) << name;
    const DropoutMasks masks(RngStream(3, Purpose::dropout, 1));
    EXPECT_TRUE(mine->Forward(images, masks).logits.equal(zoo->Forward(images, masks).logits)) << name;
  }
}

TEST(DescribedNetworks, BeginAsTheZoosOfTheSameSeed) {
  const auto zoo = Build("tanh-cnn", {1, 28, 28}, 10);
  const auto mine = Build(
      Described(
          R"([{ kind = "conv", out = 16, kernel = 8, stride = 2, padding = 3 }, "tanh", { kind = "max_pool", kernel = 2, stride = 1 },
        { kind = "conv", out = 32, kernel = 4, stride = 2 }, "tanh", { kind = "max_pool", kernel = 2, stride = 1 }, "flatten",
        { kind = "linear", out = 32, name = "fc1" }, "tanh", )" +
          kLast),
      {1, 28, 28}, 10);
  EXPECT_TRUE(mine->parameters().flat().equal(zoo->parameters().flat()));
}

TEST(DescribedNetworks, ResNet20HasTheLogitsOfPyTorch) {
  std::ifstream file(std::string(RETORT_SOURCE_DIR) + "/tests/unit/worker/fixtures/resnet20_reference.txt");
  std::int64_t channels = 0, height = 0, width = 0, rows = 0, classes = 0, parameters = 0;
  std::size_t entries = 0;
  std::string digest, bar;
  file >> channels >> height >> width >> rows >> classes >> parameters >> entries >> digest >> bar;
  std::vector<float> logits;
  for (float value = 0; file >> value;) logits.push_back(value);
  ASSERT_EQ(static_cast<std::int64_t>(logits.size()), rows * classes);
  const auto network = Build(Described(kResNet20), {channels, height, width}, classes);
  ASSERT_NE(network, nullptr);
  EXPECT_EQ(network->parameters().parameter_count(), parameters);
  EXPECT_EQ(network->state().size(), entries);
  Sha256 names;
  for (const StateEntry& entry : network->state()) {
    std::string line = entry.name + " ";
    for (std::size_t d = 0; d < entry.shape.size(); ++d) line += (d == 0 ? "" : "x") + std::to_string(entry.shape[d]);
    names.Update(line + "\n");
  }
  EXPECT_EQ(names.FinishHex(), digest);
  ASSERT_TRUE(network->LoadState("x/", FormulaState(*network)).ok());
  const at::NoGradGuard no_grad;
  ExpectNear(network->Forward(Filled({rows, channels, height, width}, 999, 1, 0)).logits, logits, 1e-5, "resnet20");
}

TEST(DescribedNetworks, CheckpointWithPrefixesFitsByItsNames) {
  const auto from = Build(Described(kResNet20), {3, 32, 32}, 10), to = Build(Described(kResNet20), {3, 32, 32}, 10, 2);
  const auto report = LoadWeights(*to, from->StateBlobs("module."));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->complete()) << storage::FormatKeyReport(*report);
  EXPECT_EQ(report->prefix, "module.");
  EXPECT_TRUE(to->parameters().flat().equal(from->parameters().flat()));
  EXPECT_EQ(InferClasses(Described(kResNet20), {3, 32, 32}, from->StateBlobs("")), 10);
}

TEST(DescribedNetworks, ShapesArePlannedAsTheyAreComputed) {
  const std::vector<NetworkLayer> layers = {
      {.kind = NetworkLayerKind::conv,
       .name = "a",
       .out = 8,
       .kernel = 3,
       .stride = 2,
       .padding = 2,
       .groups = 2,
       .dilation = 2,
       .bias = false},
      {.kind = NetworkLayerKind::batch_norm, .name = "n1"},
      {.kind = NetworkLayerKind::group_norm, .name = "n2", .groups = 4},
      {.kind = NetworkLayerKind::pad_shortcut, .out = 12, .stride = 2},
      {.kind = NetworkLayerKind::conv, .name = "b", .out = 12, .kernel = 1, .stride = 2, .inputs = {2}},
      {.kind = NetworkLayerKind::add, .inputs = {4, 3}},
      {.kind = NetworkLayerKind::max_pool, .kernel = 2, .stride = 2, .padding = 1, .ceil = true},
      {.kind = NetworkLayerKind::avg_pool, .kernel = 2},
      {.kind = NetworkLayerKind::adaptive_avg_pool, .out = 3},
      {.kind = NetworkLayerKind::leaky, .rate = 0.1},
      {.kind = NetworkLayerKind::sigmoid},
      {.kind = NetworkLayerKind::flatten},
      {.kind = NetworkLayerKind::layer_norm, .name = "n3"},
      {.kind = NetworkLayerKind::linear, .name = "fc", .out = kAsManyAsClasses}};
  const std::string text = FormatNetworkLayers(layers);
  for (const ImageShape shape : {ImageShape{2, 28, 28}, ImageShape{4, 29, 31}, ImageShape{2, 9, 64}}) {
    const PlannedShapes planned = PlanShapes(layers, {shape.channels, shape.height, shape.width}, 5);
    ASSERT_FALSE(planned.misfit) << planned.misfit->message;
    const auto network = Build({"mine", std::make_shared<const std::string>(text)}, shape, 5);
    ASSERT_NE(network, nullptr);
    EXPECT_EQ(CountParameters(layers, planned.shapes, {shape.channels, shape.height, shape.width}),
              network->parameters().parameter_count());
    for (std::size_t i = 0; i < layers.size(); ++i) {
      EXPECT_EQ(network->plan().nodes[i].shape, planned.shapes[i]) << i;
      std::vector<std::int64_t> computed =
          network->ForwardTo(i, at::randn({2, shape.channels, shape.height, shape.width})).sizes().vec();
      computed.erase(computed.begin());
      EXPECT_EQ(computed, planned.shapes[i]) << i;
    }
  }
}

TEST(DescribedNetworks, ImagesThatDoNotFitAreRefused) {
  const auto refused = [](const std::string& text, ImageShape shape) {
    return MakeDescribedLayers(text, shape, 10).status();
  };
  const Status narrow = refused("conv name=c out=4 kernel=5; flatten; linear name=fc out=classes", {1, 4, 4});
  EXPECT_EQ(narrow.code(), StatusCode::usage);
  EXPECT_NE(narrow.message().find("conv \"c\": its input is [1, 4, 4]"), std::string::npos) << narrow.message();
  EXPECT_EQ(refused("linear name=fc out=classes", {1, 4, 4}).code(), StatusCode::usage);
  EXPECT_EQ(refused("linear name=fc out=10", {1, 4, 4}).code(), StatusCode::damage);
  const Status generator = refused("linear name=fc out=16; reshape channels=1 height=4 width=4; tanh", {1, 4, 4});
  EXPECT_EQ(generator.code(), StatusCode::usage);
  EXPECT_NE(generator.message().find("they are a generator's"), std::string::npos) << generator.message();
}

TEST(DescribedNetworks, HaveGradientsOfEachExample) {
  const auto network = Build(
      Described(
          R"([{ kind = "conv", out = 4, kernel = 3, padding = 1, name = "stem" }, { kind = "group_norm", groups = 2 }, "gelu",
    { kind = "basic_block", out = 8, stride = 2, norm = "group", groups = 4, shortcut = "A" },
    { kind = "basic_block", out = 8, stride = 2, norm = "group", groups = 2, shortcut = "B" },
    { kind = "residual", layers = ["relu6", { kind = "conv", out = 8, kernel = 1 }, { kind = "leaky", slope = 0.1 }] },
    { kind = "avg_pool", kernel = 2 }, "flatten", { kind = "layer_norm" }, )" +
          kLast),
      {1, 16, 16}, 4);
  ASSERT_NE(network, nullptr);
  EXPECT_FALSE(network->MixesRows());
  const at::Tensor images = at::randn({3, 1, 16, 16}), labels = at::randint(4, {3}, at::kLong);
  const at::Tensor got = ComputePerSampleGradients(*network, images, labels);
  for (std::int64_t i = 0; i < 3; ++i) {
    const at::Tensor loss =
        at::cross_entropy_loss(network->Forward(images.narrow(0, i, 1)).logits, labels.narrow(0, i, 1));
    std::vector<at::Tensor> parts;
    for (const at::Tensor& part : ComputeVectorJacobian({loss}, {at::ones({})}, network->parameters().leaves()))
      parts.push_back(part.flatten());
    EXPECT_TRUE(at::allclose(got[i], at::cat(parts), 1e-3, 1e-5)) << i;
  }
}

TEST(DescribedNetworks, AnOptionAShortcutPadsBothSides) {
  const auto network = Build(
      {"mine", std::make_shared<const std::string>("pad_shortcut out=4 stride=2; flatten; linear name=fc out=classes")},
      {2, 5, 4}, 3);
  ASSERT_NE(network, nullptr);
  const at::Tensor images = at::randn({2, 2, 5, 4}), padded = network->ForwardTo(0, images);
  EXPECT_EQ(padded.sizes(), (std::vector<std::int64_t>{2, 4, 3, 2}));
  EXPECT_TRUE(padded.narrow(1, 1, 2).equal(images.slice(2, 0, 5, 2).slice(3, 0, 4, 2)));
  EXPECT_EQ(padded.select(1, 0).count_nonzero().item<std::int64_t>() +
                padded.select(1, 3).count_nonzero().item<std::int64_t>(),
            0);
}

}  // namespace
}  // namespace retort::worker
