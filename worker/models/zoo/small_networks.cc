// Small convolutional networks of the papers on private and federated distillation, and linear classifiers of features
// that nothing private was fitted for: a frozen front, its last value the constant that stands for a bias, and one
// linear layer that starts at zero (Tramer and Boneh 2021).
#include "worker/models/zoo/zoo.h"

#include <initializer_list>
#include <string>

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

void AddPool(LayerList& list) { list.Add({.kind = Kind::max_pool, .kernel = 2, .stride = 2}); }

}  // namespace

std::vector<Layer> Rona(std::int64_t first, std::int64_t second, std::array<std::int64_t, 3> third,
                        std::int64_t classes) {
  LayerList list;
  const auto conv = [&](const char* name, std::int64_t out, std::int64_t kernel) {
    list.Add({.kind = Kind::conv,
              .name = name,
              .out = out,
              .kernel = kernel,
              .padding = kernel / 2,
              .init = Init::truncated,
              .bias_init = Init::zero,
              .spread = 0.1});
    list.Add({.kind = Kind::leaky, .rate = 0.1});
  };
  // Rounded up, as padding to the same size does.
  const auto pool = [&] { list.Add({.kind = Kind::max_pool, .kernel = 2, .stride = 2, .ceil = true}); };
  for (const char* name : {"conv1a", "conv1b", "conv1c"}) conv(name, first, 3);
  pool();
  for (const char* name : {"conv2a", "conv2b", "conv2c"}) conv(name, second, 3);
  pool();
  conv("conv3a", third[0], 3);
  conv("conv3b", third[1], 1);
  conv("conv3c", third[2], 1);
  return std::move(list).ClassifyMeans({.kind = Kind::linear,
                                        .name = "fc",
                                        .out = classes,
                                        .init = Init::truncated,
                                        .bias_init = Init::zero,
                                        .spread = 0.1});
}

namespace {

// For each width conv, norm, ReLU, pool; then FC `hidden`, ReLU, FC c.
std::vector<Layer> NormedCnn(std::initializer_list<std::int64_t> widths, Norm norm, std::int64_t hidden,
                             std::int64_t classes) {
  LayerList list;
  int i = 0;
  for (const std::int64_t width : widths) {
    const std::string number = std::to_string(++i);
    list.Add({.kind = Kind::conv, .name = "conv" + number, .out = width, .kernel = 3, .padding = 1, .bias = false});
    list.Norm((norm == Norm::batch ? "bn" : "gn") + number, norm, width);
    list.Add(Kind::relu);
    AddPool(list);
  }
  list.Add(Kind::flatten);
  list.Add({.kind = Kind::linear, .name = "fc1", .out = hidden});
  list.Add(Kind::relu);
  list.Add({.kind = Kind::linear, .name = "fc2", .out = classes});
  return std::move(list).Take();
}

}  // namespace

std::vector<Layer> BnCnn(std::int64_t classes) { return NormedCnn({32, 64}, Norm::batch, 64, classes); }

std::vector<Layer> Cnn128(Norm norm, std::int64_t classes) { return NormedCnn({32, 64, 128}, norm, 128, classes); }

std::vector<Layer> DenseMnist(std::int64_t classes) {
  LayerList list;
  for (const std::int64_t i : {1, 2}) {
    const std::string name = "layer" + std::to_string(i);
    list.Add({.kind = Kind::conv, .name = name + ".0", .out = 16 * i, .kernel = 5, .padding = 2});
    list.BatchNorm(name + ".1");
    list.Add(Kind::relu);
    AddPool(list);
  }
  list.Add(Kind::flatten);
  list.Add({.kind = Kind::linear, .name = "fc", .out = classes});
  return std::move(list).Take();
}

namespace {

LayerList ThreeConvolutions(std::array<std::int64_t, 3> widths) {
  LayerList list;
  for (std::size_t i = 0; i < 3; ++i) {
    list.Add({.kind = Kind::conv, .name = "conv" + std::to_string(i + 1), .out = widths[i], .kernel = 3});
    list.Add(Kind::relu);
    if (i < 2) AddPool(list);
  }
  list.Add(Kind::flatten);
  return list;
}

}  // namespace

std::vector<Layer> DenseCifar(std::array<std::int64_t, 3> widths, std::int64_t classes) {
  LayerList list = ThreeConvolutions(widths);
  list.Add({.kind = Kind::linear, .name = "fc1", .out = classes});
  return std::move(list).Take();
}

std::vector<Layer> DenseCifarSmall(std::int64_t classes) {
  LayerList list = ThreeConvolutions({32, 64, 64});
  list.Add({.kind = Kind::linear, .name = "fc1", .out = 64});
  list.Add(Kind::relu);
  list.Add({.kind = Kind::linear, .name = "fc2", .out = classes});
  return std::move(list).Take();
}

namespace {

constexpr double kBias = 0.1;  // beside features of norm 1

Layer Orientations(double norm) {
  return {.kind = Kind::hog, .out = 8, .kernel = 8, .stride = 4, .padding = 2, .rate = norm, .inputs = {kImages}};
}

void AddHead(std::vector<Layer>& layers, std::int64_t components, double shrink, std::int64_t classes) {
  layers.push_back({.kind = Kind::whiten, .name = "whiten", .out = components, .rate = shrink, .spread = kBias});
  layers.push_back({.kind = Kind::linear, .name = "fc", .out = classes, .bias = false, .init = Init::zero});
}

}  // namespace

std::vector<Layer> HogLinear(std::int64_t classes) {
  std::vector<Layer> layers = {Orientations(1)};
  AddHead(layers, 0, 2, classes);
  return layers;
}

std::vector<Layer> PatchLinear(std::int64_t classes) {
  std::vector<Layer> layers = {
      {.kind = Kind::patches, .name = "patches", .out = 400, .kernel = 6, .rate = 0.25, .inputs = {kImages}},
      Orientations(0.7),
      {.kind = Kind::concat, .inputs = {0, 1}}};
  AddHead(layers, 1500, 0.3, classes);
  return layers;
}

std::vector<Layer> ScatteringLinear(std::int64_t classes) {
  std::vector<Layer> layers = {{.kind = Kind::scattering, .out = 8, .inputs = {kImages}}};
  AddHead(layers, 400, 2, classes);
  return layers;
}

std::vector<Layer> HogScatteringLinear(std::int64_t classes) {
  std::vector<Layer> layers = {{.kind = Kind::scattering, .out = 8, .inputs = {kImages}},
                               Orientations(0.7),
                               {.kind = Kind::concat, .inputs = {0, 1}}};
  AddHead(layers, 600, 1, classes);
  return layers;
}

}  // namespace retort::worker::zoo
