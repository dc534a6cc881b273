// The networks of the literature against torchvision's: names, shapes, counts, logits and running statistics, as
// fixtures/zoo_reference.py wrote them down.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <ostream>
#include <sstream>

#include "experiments/base/digests.h"
#include "experiments/methods/networks.h"
#include "tests/unit/worker/models/formula_state.h"
#include "worker/models/model_registry.h"
#include "worker/tensors/autograd.h"
#include "worker/tensors/tensor_codec.h"
#include "worker/training/per_sample_gradients.h"

namespace retort::worker {
namespace {

struct Reference {
  std::string name;
  ImageShape shape;
  std::int64_t rows = 0, classes = 0, parameters = 0;
  std::size_t entries = 0;
  std::string digest = {};
  std::vector<float> logits = {}, more = {};  // of a training line: mean running statistics
};

void PrintTo(const Reference& r, std::ostream* out) { *out << r.name; }

std::vector<float> Numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<float> numbers;
  for (float value = 0; in >> value;) numbers.push_back(value);
  return numbers;
}

std::vector<Reference> References(bool training) {
  std::ifstream file(std::string(RETORT_SOURCE_DIR) + "/tests/unit/worker/fixtures/zoo_reference.txt");
  std::vector<Reference> all;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("train ") != training) continue;
    std::istringstream parts(line.substr(training ? 6 : 0));
    std::string head, logits, more;
    std::getline(parts, head, '|');
    std::getline(parts, logits, '|');
    std::getline(parts, more);
    std::istringstream in(head);
    Reference r;
    in >> r.name >> r.shape.channels >> r.shape.height >> r.shape.width >> r.rows >> r.classes;
    if (!training) in >> r.parameters >> r.entries >> r.digest;
    r.logits = Numbers(logits);
    r.more = Numbers(more);
    all.push_back(r);
  }
  return all;
}

std::unique_ptr<Network> MakeAny(const std::string& name, ImageShape shape, std::int64_t classes) {
  auto made = MakeNetwork(name, shape, classes, RngStream(1, Purpose::parameters));
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

std::unique_ptr<Network> WithFormulaState(const Reference& r) {
  auto network = std::move(MakeNetwork(r.name, r.shape, r.classes, std::nullopt)).value();
  const Status loaded = network->LoadState("x/", FormulaState(*network));
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  return network;
}

at::Tensor FormulaImages(const Reference& r) {
  return Filled({r.rows, r.shape.channels, r.shape.height, r.shape.width}, 999, 1, 0);
}

class Zoo : public ::testing::TestWithParam<Reference> {};

TEST_P(Zoo, HasTheNamesShapesAndLogitsOfTorchvision) {
  const Reference& r = GetParam();
  const auto network = WithFormulaState(r);
  EXPECT_EQ(network->state().size(), r.entries);
  Sha256 digest;
  for (const StateEntry& entry : network->state()) {
    std::string line = entry.name + " ";
    for (std::size_t d = 0; d < entry.shape.size(); ++d) line += (d == 0 ? "" : "x") + std::to_string(entry.shape[d]);
    digest.Update(line + "\n");
  }
  EXPECT_EQ(digest.FinishHex(), r.digest);
  const at::NoGradGuard no_grad;
  const NetworkOutput out = network->Forward(FormulaImages(r));
  // Group norms over few values lose a digit in f32.
  ExpectNear(out.logits, r.logits, r.name.ends_with("-gn") ? 1e-3 : 1e-4, r.name);
  ExpectNear(out.features[0].slice(0, 0, 8), r.more, 1e-3, r.name + " features");
}

TEST_P(Zoo, HasTheParameterCountOfItsPaperForAThousandClasses) {
  const Reference& r = GetParam();
  const ImageShape shape = r.name == "vit_b_16" ? ImageShape{3, 224, 224} : r.shape;
  const LayerPlan plan = PlanLayers(MakeLayers(r.name, 1000).value(), shape).value();
  std::int64_t count = 0;
  for (const ParameterShape& p : plan.parameters) {
    std::int64_t n = 1;
    for (const std::int64_t extent : p.shape) n *= extent;
    count += n;
  }
  EXPECT_EQ(count, r.parameters);
}

INSTANTIATE_TEST_SUITE_P(EveryNetwork, Zoo, ::testing::ValuesIn(References(false)), [](const auto& test) {
  std::string name = test.param.name;
  for (char& c : name)
    if (c == '-' || c == '.') c = '_';
  return name;
});

class TrainedZoo : public ::testing::TestWithParam<Reference> {};

TEST_P(TrainedZoo, MovesItsRunningStatisticsAsTorchvisionDoes) {
  const Reference& r = GetParam();
  const auto network = WithFormulaState(r);
  const at::NoGradGuard no_grad;
  ExpectNear(network->Train(FormulaImages(r), std::nullopt).logits, r.logits, 1e-3, r.name);
  std::vector<at::Tensor> means;
  std::int64_t counted = 0, norms = 0;
  for (const storage::TensorBlob& blob : network->StateBlobs("")) {
    const auto value = MakeTensorFromBlob(blob).value();
    if (blob.name.ends_with("num_batches_tracked")) {
      counted += value.item<std::int64_t>();
      norms += blob.name.starts_with("aux") ? 0 : 1;
    }
    if (blob.name.ends_with("running_mean") || blob.name.ends_with("running_var")) {
      if (!blob.name.starts_with("aux")) means.push_back(value.mean().reshape(1));
    }
  }
  EXPECT_EQ(counted, norms);
  ExpectNear(at::cat(means), r.more, 1e-4, r.name + " statistics");
}

INSTANTIATE_TEST_SUITE_P(BatchNorms, TrainedZoo, ::testing::ValuesIn(References(true)), [](const auto& test) {
  std::string name = test.param.name;
  for (char& c : name)
    if (c == '-' || c == '.') c = '_';
  return name;
});

TEST(ZooNames, IsTheOneThatASweepCanName) {
  ASSERT_EQ(ListNetworkNames().size(), kNamedNetworks.size());
  for (std::size_t i = 0; i < kNamedNetworks.size(); ++i) {
    const NamedNetwork& named = kNamedNetworks[i];
    EXPECT_EQ(ListNetworkNames()[i], named.name);
    const std::vector<Layer> layers = MakeLayers(ListNetworkNames()[i], 10).value();
    const bool mixes = std::any_of(layers.begin(), layers.end(), [](const Layer& l) { return MixesRows(l.kind); });
    EXPECT_EQ(mixes, named.mixes_rows) << named.name;
  }
}

TEST(ZooNames, LeastExtentsLeaveEveryLayerAPixel) {
  for (const NamedNetwork& named : kNamedNetworks) {
    const std::string name(named.name);
    const std::vector<Layer> layers = MakeLayers(name, 10).value();
    std::int64_t least = 1;
    while (!PlanLayers(layers, {3, least, least}).ok()) ++least;
    EXPECT_EQ(named.min_extent, least) << name;
    if (least == 1) continue;
    EXPECT_EQ(MakeNetwork(name, {3, least - 1, 64}, 10, std::nullopt).status().code(), StatusCode::usage) << name;
  }
}

TEST(ZooNames, ImagesOfTheWrongKindAreRefusedWithWhatWouldDo) {
  const RngStream stream(1, Purpose::parameters);
  EXPECT_NE(MakeNetwork("vit_b_16", {3, 40, 32}, 10, stream).status().message().find("multiples of 16"),
            std::string::npos);
  EXPECT_NE(MakeNetwork("googlenet-transform-input", {1, 64, 64}, 10, stream).status().message().find("3 channels"),
            std::string::npos);
}

TEST(ConvLarge, HasTheParameterCountsOfRona) {
  EXPECT_EQ(MakeAny("conv-large", {3, 32, 32}, 10)->parameters().parameter_count(), 3'119'754);
  EXPECT_EQ(MakeAny("conv-middle", {3, 32, 32}, 10)->parameters().parameter_count(), 1'406'794);
  EXPECT_EQ(MakeAny("conv-small", {3, 32, 32}, 10)->parameters().parameter_count(), 152'138);
  EXPECT_EQ(MakeAny("conv-small-s2", {3, 32, 32}, 10)->parameters().parameter_count(), 521'930);
  EXPECT_EQ(MakeAny("conv-small-svhn", {3, 32, 32}, 10)->parameters().parameter_count(), 38'442);
  EXPECT_EQ(MakeAny("conv-small-mnist", {1, 28, 28}, 10)->parameters().parameter_count(), 4'974);
}

TEST(NetworkState, RoundTripsThroughBlobsWithItsStatistics) {
  const auto from = MakeAny("dense-mnist", {1, 28, 28}, 10);
  static_cast<void>(from->Train(at::rand({6, 1, 28, 28}), std::nullopt));
  const auto blobs = from->StateBlobs("student/");
  EXPECT_EQ(blobs[0].name, "student/layer1.0.weight");
  auto to = std::move(MakeNetwork("dense-mnist", {1, 28, 28}, 10, RngStream(2, Purpose::parameters))).value();
  ASSERT_TRUE(to->LoadState("student/", blobs).ok());
  EXPECT_EQ(to->StateBlobs("student/"), blobs);
  EXPECT_FALSE(to->LoadState("teacher/", blobs).ok());
}

TEST(NetworkState, MissingStatisticsAreDamageButCountersAreZero) {
  const auto network = MakeAny("dense-mnist", {1, 28, 28}, 10);
  static_cast<void>(network->Train(at::rand({6, 1, 28, 28}), std::nullopt));
  auto blobs = network->StateBlobs("");
  std::erase_if(blobs, [](const auto& b) { return b.name.ends_with("num_batches_tracked"); });
  ASSERT_TRUE(network->LoadState("", blobs).ok());
  EXPECT_EQ(network->buffers().counts().sum().item<std::int64_t>(), 0);
  const auto before = network->StateBlobs("");
  std::erase_if(blobs, [](const auto& b) { return b.name == "layer2.1.running_var"; });
  const Status lacks = network->LoadState("", blobs);
  EXPECT_EQ(lacks.code(), StatusCode::damage);
  EXPECT_NE(lacks.message().find("'layer2.1.running_var'"), std::string::npos) << lacks.message();
  EXPECT_EQ(network->StateBlobs(""), before);
}

TEST(NetworkState, HeadsThatNeverRunMayBeMissing) {
  const auto network = MakeAny("googlenet", {3, 32, 32}, 10);
  auto blobs = network->StateBlobs("");
  const auto heads = std::erase_if(blobs, [](const auto& b) { return b.name.starts_with("aux"); });
  EXPECT_EQ(heads, 20U);
  EXPECT_TRUE(network->LoadState("", blobs).ok());
}

// Glorot and Bengio 2010: weights fill +-sqrt(6 / (fan in + fan out)), biases stay.
TEST(NetworkState, XavierDrawsWeightsByBothFans) {
  const auto network =
      std::move(MakeNetwork("datalens-x0.125", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
  ParameterArena& parameters = network->parameters();
  const at::Tensor before = parameters.flat().clone();
  parameters.RedrawXavier(RngStream(1, Purpose::parameters));
  for (std::size_t i = 0; i < parameters.shapes().size(); ++i) {
    const std::vector<std::int64_t>& shape = parameters.shapes()[i].shape;
    const at::Tensor now = parameters.leaves()[i].detach().flatten();
    if (shape.size() < 2) {
      EXPECT_TRUE(at::equal(now, before.narrow(0, parameters.offsets()[i], now.numel())));
      continue;
    }
    const std::int64_t window = now.numel() / (shape[0] * shape[1]);
    const double bound = std::sqrt(6.0 / static_cast<double>((shape[0] + shape[1]) * window));
    EXPECT_LE(now.abs().max().item<double>(), bound);
    if (now.numel() > 500) {
      EXPECT_NEAR(now.square().mean().item<double>(), bound * bound / 3, 0.1 * bound * bound);
    }
  }
}

TEST(NetworkState, RedrawnNetworkIsANewOne) {
  const auto network = MakeAny("dense-mnist", {1, 28, 28}, 10);
  const auto fresh = network->StateBlobs("");
  static_cast<void>(network->Train(at::rand({6, 1, 28, 28}), std::nullopt));
  EXPECT_NE(network->StateBlobs(""), fresh);
  network->Redraw(RngStream(1, Purpose::parameters));
  EXPECT_EQ(network->StateBlobs(""), fresh);
}

TEST(Training, OneValueAChannelFallsBackToRunningStatistics) {
  const auto network = MakeAny("resnet18", {3, 32, 32}, 10);  // one pixel is left in layer4
  const NetworkOutput out = network->Train(at::rand({1, 3, 32, 32}), std::nullopt);
  EXPECT_TRUE(out.logits.isfinite().all().item<bool>());
  EXPECT_TRUE(network->buffers().flat().isfinite().all().item<bool>());
}

// What a transformer is made of, in small.
std::vector<Layer> TinyTransformer(std::int64_t classes) {
  using Kind = LayerKind;
  return {{.kind = Kind::class_token, .name = "class_token", .out = 12, .init = Init::normal, .spread = 1},
          {.kind = Kind::conv, .name = "conv_proj", .out = 12, .kernel = 8, .stride = 8, .inputs = {kImages}},
          {.kind = Kind::tokens, .name = "pos_embedding", .inputs = {1, 0}, .init = Init::normal, .spread = 1},
          {.kind = Kind::layer_norm, .name = "ln_1"},
          {.kind = Kind::linear, .name = "in_proj", .out = 36, .joint = '_'},
          {.kind = Kind::attention, .groups = 3},
          {.kind = Kind::linear, .name = "out_proj", .out = 12},
          {.kind = Kind::add, .inputs = {6, 2}},
          {.kind = Kind::layer_norm, .name = "ln_2"},
          {.kind = Kind::gelu},
          {.kind = Kind::first_token},
          {.kind = Kind::linear, .name = "head", .out = classes}};
}

std::vector<Layer> GroupedConvolutions(std::int64_t classes) {
  using Kind = LayerKind;
  return {{.kind = Kind::conv, .name = "a", .out = 6, .kernel = 3, .padding = 2, .dilation = 2},
          {.kind = Kind::conv, .name = "b", .out = 12, .kernel = 3, .stride = 2, .groups = 3, .bias = false},
          {.kind = Kind::relu6},
          {.kind = Kind::conv, .name = "c", .out = 12, .kernel = 3, .padding = 1, .groups = 12},
          {.kind = Kind::group_norm, .name = "n", .groups = 4},
          {.kind = Kind::spatial_mean},
          {.kind = Kind::linear, .name = "d", .out = classes}};
}

std::vector<at::Tensor> Gradients(const Network& network, const at::Tensor& loss) {
  return ComputeVectorJacobian({loss}, {at::ones({})}, network.parameters().leaves());
}

TEST(Training, InPlaceOperationsKeepTheGradients) {
  for (const char* name : {"alexnet", "mobilenet_v2", "shufflenet_v2_x1_0", "wrn16-1-gn", "densenet161"}) {
    const auto network = MakeAny(name, {3, 64, 64}, 4);
    const at::Tensor images = at::randn({2, 3, 64, 64});
    LayerTrace trace;
    const auto plain = Gradients(*network, network->Forward(images).logits.square().sum());
    const auto kept = Gradients(*network, network->Forward(images, std::nullopt, &trace).logits.square().sum());
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const double scale = kept[i].abs().max().item<double>();
      ASSERT_LE((plain[i] - kept[i]).abs().max().item<double>(), 1e-3 * scale + 1e-9) << name << " " << i;
    }
    const DropoutMasks dropout(RngStream(3, Purpose::dropout));
    for (const at::Tensor& g : Gradients(*network, network->Train(images, dropout).logits.square().sum()))
      ASSERT_TRUE(g.isfinite().all().item<bool>()) << name;
  }
}

void ExpectPerSampleGradients(const Network& network, const at::Tensor& images, std::int64_t classes,
                              const std::string& what, double tolerance = 1e-4) {
  const at::Tensor labels = at::arange(images.size(0), at::kLong).remainder(classes);
  const at::Tensor got = ComputePerSampleGradients(network, images, labels);
  for (std::int64_t i = 0; i < images.size(0); ++i) {
    const at::Tensor logits = network.Forward(images.narrow(0, i, 1)).logits;
    std::vector<at::Tensor> parts;
    for (const at::Tensor& g : Gradients(network, at::cross_entropy_loss(logits, labels.narrow(0, i, 1))))
      parts.push_back(g.flatten());
    const at::Tensor want = at::cat(parts);
    ASSERT_EQ(got.size(1), want.size(0)) << what;
    EXPECT_LE((got[i] - want).norm().item<double>(), tolerance * want.norm().item<double>()) << what;
  }
}

TEST(PerSampleGradientsOfLayers, EqualOneBackwardPassForEachExample) {
  const RngStream stream(1, Purpose::parameters);
  const at::Tensor images = at::randn({4, 2, 16, 24});
  ExpectPerSampleGradients(Network(TinyTransformer(3), {2, 16, 24}, stream), images, 3, "transformer");
  ExpectPerSampleGradients(Network(GroupedConvolutions(3), {2, 16, 24}, stream), images, 3, "grouped");
  const auto residual = WithFormulaState({.name = "wrn16-1-gn", .shape = {1, 28, 28}, .classes = 4});
  // Here and there a rectifier falls to the other side of zero in a batch of another size.
  ExpectPerSampleGradients(*residual, at::randn({3, 1, 28, 28}), 4, "wrn16-1-gn", 3e-2);
}

}  // namespace
}  // namespace retort::worker
