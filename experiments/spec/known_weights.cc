#include "experiments/spec/known_weights.h"

#include <array>

namespace retort {
namespace {

constexpr std::array kKnown = {
    KnownWeights{"7be5be79", "alexnet", "AlexNet_Weights.IMAGENET1K_V1"},
    KnownWeights{"8d451a50", "densenet161", "DenseNet161_Weights.IMAGENET1K_V1"},
    KnownWeights{"1378be20", "googlenet", "GoogLeNet_Weights.IMAGENET1K_V1"},
    KnownWeights{"b0353104", "mobilenet_v2", "MobileNet_V2_Weights.IMAGENET1K_V1"},
    KnownWeights{"7ebf99e0", "mobilenet_v2", "MobileNet_V2_Weights.IMAGENET1K_V2"},
    KnownWeights{"f37072fd", "resnet18", "ResNet18_Weights.IMAGENET1K_V1"},
    KnownWeights{"b627a593", "resnet34", "ResNet34_Weights.IMAGENET1K_V1"},
    KnownWeights{"0676ba61", "resnet50", "ResNet50_Weights.IMAGENET1K_V1"},
    KnownWeights{"11ad3fa6", "resnet50", "ResNet50_Weights.IMAGENET1K_V2"},
    KnownWeights{"5666bf0f80", "shufflenet_v2_x1_0", "ShuffleNet_V2_X1_0_Weights.IMAGENET1K_V1"},
    KnownWeights{"c79401a0", "vgg19_bn", "VGG19_BN_Weights.IMAGENET1K_V1"},
    KnownWeights{"c867db91", "vit_b_16", "ViT_B_16_Weights.IMAGENET1K_V1"},
    KnownWeights{"95faca4d", "wide_resnet50_2", "Wide_ResNet50_2_Weights.IMAGENET1K_V1"},
    KnownWeights{"9ba9bcbe", "wide_resnet50_2", "Wide_ResNet50_2_Weights.IMAGENET1K_V2"},
};

}  // namespace

std::span<const KnownWeights> AllKnownWeights() { return kKnown; }

const KnownWeights* FindKnownWeights(std::string_view digest) {
  for (const KnownWeights& known : kKnown)
    if (digest.starts_with(known.prefix)) return &known;
  return nullptr;
}

}  // namespace retort
