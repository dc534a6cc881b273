// The networks that a sweep can name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace retort {

struct NamedNetwork {
  std::string_view name;
  std::int64_t min_extent;      // smallest height and width, in pixels, that leave every layer a pixel
  std::int64_t multiple;        // height and width are multiples of it
  std::int64_t channels;        // that images must have; 0: any
  bool mixes_rows;              // batch norms: not for DP-SGD; the name with "-gn" behind it has group norms instead
  bool frozen = false;          // all but a last linear layer without a bias
  std::int64_t max_extent = 0;  // largest height and width, in pixels, that frozen layers are fitted for; 0: any
};

inline constexpr std::array kNamedNetworks = {NamedNetwork{"datalens", 8, 1, 0, false},
                                              NamedNetwork{"datalens-x0.125", 8, 1, 0, false},
                                              NamedNetwork{"tanh-cnn", 14, 1, 0, false},
                                              NamedNetwork{"logistic", 1, 1, 0, false},
                                              NamedNetwork{"hog-linear", 4, 1, 0, false, true, 128},
                                              NamedNetwork{"patch-linear", 6, 1, 0, false, true, 96},
                                              NamedNetwork{"scattering-linear", 1, 1, 0, false, true, 96},
                                              NamedNetwork{"hog-scattering-linear", 4, 1, 0, false, true, 96},
                                              NamedNetwork{"datalens-no-dropout", 8, 1, 0, false},
                                              NamedNetwork{"alexnet", 63, 1, 0, false},
                                              NamedNetwork{"vgg19_bn", 32, 1, 0, true},
                                              NamedNetwork{"resnet18", 1, 1, 0, true},
                                              NamedNetwork{"resnet34", 1, 1, 0, true},
                                              NamedNetwork{"resnet50", 1, 1, 0, true},
                                              NamedNetwork{"wide_resnet50_2", 1, 1, 0, true},
                                              NamedNetwork{"densenet161", 29, 1, 0, true},
                                              NamedNetwork{"mobilenet_v2", 1, 1, 0, true},
                                              NamedNetwork{"shufflenet_v2_x1_0", 1, 1, 0, true},
                                              NamedNetwork{"googlenet", 15, 1, 0, true},
                                              NamedNetwork{"googlenet-transform-input", 15, 1, 3, true},
                                              NamedNetwork{"vit_b_16", 16, 16, 0, false},
                                              NamedNetwork{"resnet18-gn", 1, 1, 0, false},
                                              NamedNetwork{"resnet34-gn", 1, 1, 0, false},
                                              NamedNetwork{"resnet50-gn", 1, 1, 0, false},
                                              NamedNetwork{"resnet18-cifar", 1, 1, 0, true},
                                              NamedNetwork{"resnet34-cifar", 1, 1, 0, true},
                                              NamedNetwork{"resnet18-cifar-gn", 1, 1, 0, false},
                                              NamedNetwork{"resnet34-cifar-gn", 1, 1, 0, false},
                                              NamedNetwork{"wrn16-1", 1, 1, 0, true},
                                              NamedNetwork{"wrn40-1", 1, 1, 0, true},
                                              NamedNetwork{"wrn16-1-gn", 1, 1, 0, false},
                                              NamedNetwork{"wrn40-1-gn", 1, 1, 0, false},
                                              NamedNetwork{"conv-large", 1, 1, 0, false},
                                              NamedNetwork{"conv-middle", 1, 1, 0, false},
                                              NamedNetwork{"conv-small", 1, 1, 0, false},
                                              NamedNetwork{"conv-small-s2", 1, 1, 0, false},
                                              NamedNetwork{"conv-small-svhn", 1, 1, 0, false},
                                              NamedNetwork{"conv-small-mnist", 1, 1, 0, false},
                                              NamedNetwork{"bn-cnn", 4, 1, 0, true},
                                              NamedNetwork{"dense-mnist", 4, 1, 0, true},
                                              NamedNetwork{"dense-cifar10", 18, 1, 0, false},
                                              NamedNetwork{"dense-cifar100", 18, 1, 0, false},
                                              NamedNetwork{"dense-cifar10-small", 18, 1, 0, false},
                                              NamedNetwork{"cnn-128", 8, 1, 0, true},
                                              NamedNetwork{"cnn-128-gn", 8, 1, 0, false}};

// Null for a name that is none of them.
constexpr const NamedNetwork* FindNetwork(std::string_view name) {
  for (const NamedNetwork& network : kNamedNetworks)
    if (network.name == name) return &network;
  return nullptr;
}

// The generators that a sweep can name: DAFL's, the one that Fast-Datafree and DENSE share, and DP-MERF's, which is
// given the class of each image and is that method's alone.
inline constexpr std::array<std::string_view, 3> kNamedGenerators = {"dafl", "fast", "dp-merf"};
inline constexpr std::string_view kClassGenerator = kNamedGenerators[2];

constexpr bool IsNamedGenerator(std::string_view name) {
  for (const std::string_view generator : kNamedGenerators)
    if (generator == name) return true;
  return false;
}

// Images that a generator of the zoo makes have sides that are multiples of it: it doubles its image twice, or from 128
// pixels a side on five times.
constexpr std::int64_t ComputeGeneratorMultiple(std::int64_t height, std::int64_t width) {
  return height >= 128 && width >= 128 ? 32 : 4;
}

// 1 for a name that is none of them.
constexpr std::int64_t FindMinExtent(std::string_view name) {
  const NamedNetwork* network = FindNetwork(name);
  return network == nullptr ? 1 : network->min_extent;
}

}  // namespace retort
