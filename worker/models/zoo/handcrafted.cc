// Linear classifiers of features that nothing private was fitted for: a frozen front, its last value the constant that
// stands for a bias, and one linear layer that starts at zero (Tramer and Boneh 2021).
#include "worker/models/zoo/zoo.h"

namespace retort::worker::zoo {
namespace {

using Kind = LayerKind;

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

}  // namespace retort::worker::zoo
