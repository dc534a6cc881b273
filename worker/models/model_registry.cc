#include "worker/models/model_registry.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "experiments/methods/networks.h"
#include "worker/models/described_network.h"
#include "worker/models/features/fit_features.h"
#include "worker/models/layer.h"
#include "worker/models/zoo/zoo.h"

namespace retort::worker {
namespace {

using Kind = LayerKind;

// DataLens evaluation net: conv 32, max-pool, dropout .2, conv 64, dropout .25, FC 64, FC c. Pooling and dropout
// before the rectifier give the same values and gradients as after it; the pooled ones on a quarter of the elements.
std::vector<Layer> DatalensOfWidth(std::int64_t width, std::int64_t classes) {
  return {{.kind = Kind::conv, .name = "conv1", .out = width, .kernel = 3},
          {.kind = Kind::max_pool, .name = "", .kernel = 2, .stride = 2},
          {.kind = Kind::dropout, .name = "", .rate = 0.2},
          {.kind = Kind::relu, .name = ""},
          {.kind = Kind::conv, .name = "conv2", .out = 2 * width, .kernel = 3},
          {.kind = Kind::dropout, .name = "", .rate = 0.25},
          {.kind = Kind::relu, .name = ""},
          {.kind = Kind::flatten, .name = ""},
          {.kind = Kind::linear, .name = "fc1", .out = 2 * width},
          {.kind = Kind::relu, .name = ""},
          {.kind = Kind::linear, .name = "fc2", .out = classes}};
}

std::vector<Layer> Datalens(std::int64_t classes) { return DatalensOfWidth(32, classes); }

// An eighth of its channels: small devices, and steps whose cost is overhead.
std::vector<Layer> DatalensEighth(std::int64_t classes) { return DatalensOfWidth(4, classes); }

// Soft labels of one teacher leave little to overfit to.
std::vector<Layer> DatalensNoDropout(std::int64_t classes) {
  std::vector<Layer> layers = Datalens(classes);
  std::erase_if(layers, [](const Layer& layer) { return layer.kind == Kind::dropout; });
  return layers;
}

// The tanh CNN of the DP-SGD literature (Papernot et al. 2021, Tramer and Boneh 2021).
std::vector<Layer> TanhCnn(std::int64_t classes) {
  return {{.kind = Kind::conv, .name = "conv1", .out = 16, .kernel = 8, .stride = 2, .padding = 3},
          {.kind = Kind::tanh, .name = ""},
          {.kind = Kind::max_pool, .name = "", .kernel = 2, .stride = 1},
          {.kind = Kind::conv, .name = "conv2", .out = 32, .kernel = 4, .stride = 2},
          {.kind = Kind::tanh, .name = ""},
          {.kind = Kind::max_pool, .name = "", .kernel = 2, .stride = 1},
          {.kind = Kind::flatten, .name = ""},
          {.kind = Kind::linear, .name = "fc1", .out = 32},
          {.kind = Kind::tanh, .name = ""},
          {.kind = Kind::linear, .name = "fc2", .out = classes}};
}

std::vector<Layer> Logistic(std::int64_t classes) {
  return {{.kind = Kind::flatten, .name = ""}, {.kind = Kind::linear, .name = "fc", .out = classes}};
}

using zoo::Norm;

constexpr std::array<std::int64_t, 4> kBlocks18 = {2, 2, 2, 2}, kBlocks34 = {3, 4, 6, 3};

struct Entry {
  std::string name;
  std::function<std::vector<Layer>(std::int64_t classes)> layers;
};

Entry Residual(std::string name, const zoo::ResNetForm& form) {
  return {std::move(name), [form](std::int64_t classes) { return zoo::ResNet(form, classes); }};
}

Entry Wide(std::string name, std::int64_t depth, Norm norm) {
  return {std::move(name), [depth, norm](std::int64_t classes) { return zoo::WideResNet(depth, norm, classes); }};
}

Entry ConvNet(std::string name, std::int64_t first, std::int64_t second, std::array<std::int64_t, 3> third) {
  return {std::move(name),
          [first, second, third](std::int64_t classes) { return zoo::Rona(first, second, third, classes); }};
}

Entry DenseClient(std::string name, std::array<std::int64_t, 3> widths) {
  return {std::move(name), [widths](std::int64_t classes) { return zoo::DenseCifar(widths, classes); }};
}

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> entries = {
      {"datalens", &Datalens},
      {"datalens-x0.125", &DatalensEighth},
      {"tanh-cnn", &TanhCnn},
      {"logistic", &Logistic},
      {"hog-linear", &zoo::HogLinear},
      {"patch-linear", &zoo::PatchLinear},
      {"scattering-linear", &zoo::ScatteringLinear},
      {"hog-scattering-linear", &zoo::HogScatteringLinear},
      {"datalens-no-dropout", &DatalensNoDropout},
      {"alexnet", &zoo::AlexNet},
      {"vgg19_bn", &zoo::Vgg19Bn},
      Residual("resnet18", {.blocks = kBlocks18}),
      Residual("resnet34", {.blocks = kBlocks34}),
      Residual("resnet50", {.blocks = kBlocks34, .bottleneck = true}),
      Residual("wide_resnet50_2", {.blocks = kBlocks34, .bottleneck = true, .base_width = 128}),
      {"densenet161", &zoo::DenseNet161},
      {"mobilenet_v2", &zoo::MobileNetV2},
      {"shufflenet_v2_x1_0", &zoo::ShuffleNetV2},
      {"googlenet", [](std::int64_t classes) { return zoo::GoogLeNet(false, classes); }},
      {"googlenet-transform-input", [](std::int64_t classes) { return zoo::GoogLeNet(true, classes); }},
      {"vit_b_16", &zoo::VitB16},
      Residual("resnet18-gn", {.blocks = kBlocks18, .norm = Norm::group}),
      Residual("resnet34-gn", {.blocks = kBlocks34, .norm = Norm::group}),
      Residual("resnet50-gn", {.blocks = kBlocks34, .bottleneck = true, .norm = Norm::group}),
      Residual("resnet18-cifar", {.blocks = kBlocks18, .cifar = true}),
      Residual("resnet34-cifar", {.blocks = kBlocks34, .cifar = true}),
      Residual("resnet18-cifar-gn", {.blocks = kBlocks18, .cifar = true, .norm = Norm::group}),
      Residual("resnet34-cifar-gn", {.blocks = kBlocks34, .cifar = true, .norm = Norm::group}),
      Wide("wrn16-1", 16, Norm::batch),
      Wide("wrn40-1", 40, Norm::batch),
      Wide("wrn16-1-gn", 16, Norm::group),
      Wide("wrn40-1-gn", 40, Norm::group),
      ConvNet("conv-large", 128, 256, {512, 256, 128}),
      ConvNet("conv-middle", 96, 192, {192, 192, 192}),
      ConvNet("conv-small", 32, 64, {64, 32, 32}),
      ConvNet("conv-small-s2", 64, 128, {64, 32, 32}),
      ConvNet("conv-small-svhn", 16, 32, {32, 16, 16}),
      ConvNet("conv-small-mnist", 6, 12, {8, 4, 4}),
      {"bn-cnn", &zoo::BnCnn},
      {"dense-mnist", &zoo::DenseMnist},
      DenseClient("dense-cifar10", {128, 128, 128}),
      DenseClient("dense-cifar100", {256, 256, 128}),
      {"dense-cifar10-small", &zoo::DenseCifarSmall},
      {"cnn-128", [](std::int64_t classes) { return zoo::Cnn128(Norm::batch, classes); }},
      {"cnn-128-gn", [](std::int64_t classes) { return zoo::Cnn128(Norm::group, classes); }}};
  return entries;
}

std::string Extents(ImageShape image) { return std::to_string(image.height) + " x " + std::to_string(image.width); }

Status CheckImages(const std::string& name, ImageShape image) {
  const NamedNetwork* network = FindNetwork(name);
  RETORT_CHECK(network != nullptr);
  const std::string subject = "The network '" + name + "' needs images ";
  const std::int64_t least = network->min_extent, multiple = network->multiple;
  if (image.height < least || image.width < least)
    return UsageError(subject + "of at least " + std::to_string(least) + " pixels a side; these are " + Extents(image) +
                      ".");
  if (network->max_extent > 0 && std::max(image.height, image.width) > network->max_extent)
    return UsageError(subject + "of at most " + std::to_string(network->max_extent) + " pixels a side; these are " +
                      Extents(image) + ".");
  if (image.height % multiple != 0 || image.width % multiple != 0)
    return UsageError(subject + "whose sides are multiples of " + std::to_string(multiple) + " pixels; these are " +
                      Extents(image) + ".");
  if (network->channels != 0 && image.channels != network->channels)
    return UsageError(subject + "of " + std::to_string(network->channels) + " channels; these have " +
                      std::to_string(image.channels) + ".");
  return {};
}

}  // namespace

const std::vector<std::string>& ListNetworkNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Entry& entry : Entries()) all.push_back(entry.name);
    return all;
  }();
  return names;
}

Result<std::vector<Layer>> MakeLayers(const std::string& name, std::int64_t classes) {
  for (const Entry& entry : Entries())
    if (entry.name == name) return entry.layers(classes);
  std::string known;
  for (const std::string& candidate : ListNetworkNames()) known += (known.empty() ? "" : ", ") + candidate;
  return UsageError("There is no network '" + name + "'. Known: " + known + ".");
}

namespace {

TrialSpec AsDefined(const NetworkChoice& choice) {
  TrialSpec spec;
  spec.network = choice.name;
  spec.layers = choice.layers;
  return spec;
}

// Error: usage, where it cannot take the images.
Result<std::vector<Layer>> MakeChosenLayers(const TrialSpec& spec, ImageShape input, std::int64_t classes) {
  if (spec.layers) return MakeDescribedLayers(*spec.layers, input, classes);
  RETORT_ASSIGN_OR_RETURN(std::vector<Layer> layers, MakeLayers(spec.network, classes));
  RETORT_RETURN_IF_ERROR(CheckImages(spec.network, input));
  return layers;
}

}  // namespace

Result<std::unique_ptr<Network>> MakeNetwork(const NetworkChoice& choice, ImageShape input, std::int64_t classes,
                                             const std::optional<RngStream>& stream, at::Device device) {
  return MakeNetwork(AsDefined(choice), input, classes, stream, device);
}

Result<std::vector<Layer>> MakeLayers(const TrialSpec& spec, ImageShape input, std::int64_t classes) {
  RETORT_ASSIGN_OR_RETURN(std::vector<Layer> layers, MakeChosenLayers(spec, input, classes));
  if (spec.activation == Activation::as_defined) return layers;
  return SetActivation(std::move(layers), spec.activation == Activation::tanh ? LayerKind::tanh : LayerKind::relu);
}

Result<std::unique_ptr<Network>> MakeNetwork(const TrialSpec& spec, ImageShape input, std::int64_t classes,
                                             const std::optional<RngStream>& stream, at::Device device) {
  RETORT_ASSIGN_OR_RETURN(std::vector<Layer> layers, MakeLayers(spec, input, classes));
  auto network = std::make_unique<Network>(std::move(layers), input, stream, device);
  if (stream) FitFeatures(*network);
  return network;
}

Result<std::vector<StateEntry>> PlanState(const NetworkChoice& choice, ImageShape input, std::int64_t classes) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<Layer> layers, MakeLayers(AsDefined(choice), input, classes));
  RETORT_ASSIGN_OR_RETURN(LayerPlan plan, PlanLayers(layers, input));
  return std::move(plan.state);
}

Result<std::int64_t> CountParameters(const TrialSpec& spec, ImageShape input, std::int64_t classes) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<Layer> layers, MakeLayers(spec, input, classes));
  RETORT_ASSIGN_OR_RETURN(const LayerPlan plan, PlanLayers(layers, input));
  std::int64_t count = 0;
  for (const StateEntry& entry : plan.state) {
    if (entry.buffer) continue;
    count += std::accumulate(entry.shape.begin(), entry.shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  return count;
}

}  // namespace retort::worker
