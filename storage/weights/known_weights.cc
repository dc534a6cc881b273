#include "storage/weights/known_weights.h"

#include <array>

namespace retort::storage {
namespace {

constexpr std::array<KnownWeights, 35> kKnown = {
    KnownWeights{"AlexNet_Weights.IMAGENET1K_V1", "alexnet", "7be5be79", 56.522, 61100840, 256, 224, false,
                 "alexnet-owt"},
    KnownWeights{"DenseNet121_Weights.IMAGENET1K_V1", "densenet121", "a639ec97", 74.434, 7978856, 256, 224},
    KnownWeights{"DenseNet161_Weights.IMAGENET1K_V1", "densenet161", "8d451a50", 77.138, 28681000, 256, 224},
    KnownWeights{"DenseNet169_Weights.IMAGENET1K_V1", "densenet169", "b2777c0a", 75.6, 14149480, 256, 224},
    KnownWeights{"DenseNet201_Weights.IMAGENET1K_V1", "densenet201", "c1103571", 76.896, 20013928, 256, 224},
    KnownWeights{"GoogLeNet_Weights.IMAGENET1K_V1", "googlenet", "1378be20", 69.778, 6624904, 256, 224},
    KnownWeights{"MobileNet_V2_Weights.IMAGENET1K_V1", "mobilenet_v2", "b0353104", 71.878, 3504872, 256, 224},
    KnownWeights{"MobileNet_V2_Weights.IMAGENET1K_V2", "mobilenet_v2", "7ebf99e0", 72.154, 3504872, 232, 224},
    KnownWeights{"ResNet101_Weights.IMAGENET1K_V1", "resnet101", "63fe2227", 77.374, 44549160, 256, 224},
    KnownWeights{"ResNet101_Weights.IMAGENET1K_V2", "resnet101", "cd907fc2", 81.886, 44549160, 232, 224},
    KnownWeights{"ResNet152_Weights.IMAGENET1K_V1", "resnet152", "394f9c45", 78.312, 60192808, 256, 224},
    KnownWeights{"ResNet152_Weights.IMAGENET1K_V2", "resnet152", "f82ba261", 82.284, 60192808, 232, 224},
    KnownWeights{"ResNet18_Weights.IMAGENET1K_V1", "resnet18", "f37072fd", 69.758, 11689512, 256, 224},
    KnownWeights{"ResNet34_Weights.IMAGENET1K_V1", "resnet34", "b627a593", 73.314, 21797672, 256, 224},
    KnownWeights{"ResNet50_Weights.IMAGENET1K_V1", "resnet50", "0676ba61", 76.13, 25557032, 256, 224},
    KnownWeights{"ResNet50_Weights.IMAGENET1K_V2", "resnet50", "11ad3fa6", 80.858, 25557032, 232, 224},
    KnownWeights{"ShuffleNet_V2_X0_5_Weights.IMAGENET1K_V1", "shufflenet_v2_x0_5", "f707e7126e", 60.552, 1366792, 256,
                 224, false, "shufflenetv2_x0.5"},
    KnownWeights{"ShuffleNet_V2_X1_0_Weights.IMAGENET1K_V1", "shufflenet_v2_x1_0", "5666bf0f80", 69.362, 2278604, 256,
                 224, false, "shufflenetv2_x1"},
    KnownWeights{"ShuffleNet_V2_X1_5_Weights.IMAGENET1K_V1", "shufflenet_v2_x1_5", "3c479a10", 72.996, 3503624, 232,
                 224, false, "shufflenetv2_x1_5"},
    KnownWeights{"ShuffleNet_V2_X2_0_Weights.IMAGENET1K_V1", "shufflenet_v2_x2_0", "8be3c8ee", 76.23, 7393996, 232, 224,
                 false, "shufflenetv2_x2_0"},
    KnownWeights{"VGG11_Weights.IMAGENET1K_V1", "vgg11", "8a719046", 69.02, 132863336, 256, 224},
    KnownWeights{"VGG11_BN_Weights.IMAGENET1K_V1", "vgg11_bn", "6002323d", 70.37, 132868840, 256, 224},
    KnownWeights{"VGG13_Weights.IMAGENET1K_V1", "vgg13", "19584684", 69.928, 133047848, 256, 224},
    KnownWeights{"VGG13_BN_Weights.IMAGENET1K_V1", "vgg13_bn", "abd245e5", 71.586, 133053736, 256, 224},
    KnownWeights{"VGG16_Weights.IMAGENET1K_V1", "vgg16", "397923af", 71.592, 138357544, 256, 224},
    KnownWeights{"VGG16_BN_Weights.IMAGENET1K_V1", "vgg16_bn", "6c64b313", 73.36, 138365992, 256, 224},
    KnownWeights{"VGG19_Weights.IMAGENET1K_V1", "vgg19", "dcbb9e9d", 72.376, 143667240, 256, 224},
    KnownWeights{"VGG19_BN_Weights.IMAGENET1K_V1", "vgg19_bn", "c79401a0", 74.218, 143678248, 256, 224},
    KnownWeights{"ViT_B_16_Weights.IMAGENET1K_V1", "vit_b_16", "c867db91", 81.072, 86567656, 256, 224},
    KnownWeights{"ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1", "vit_b_16", "9ac1b537", 85.304, 86859496, 384, 384, true,
                 "vit_b_16_swag"},
    KnownWeights{"ViT_B_16_Weights.IMAGENET1K_SWAG_LINEAR_V1", "vit_b_16", "4e70ced5", 81.886, 86567656, 224, 224, true,
                 "vit_b_16_lc_swag"},
    KnownWeights{"Wide_ResNet101_2_Weights.IMAGENET1K_V1", "wide_resnet101_2", "32ee1156", 78.848, 126886696, 256, 224},
    KnownWeights{"Wide_ResNet101_2_Weights.IMAGENET1K_V2", "wide_resnet101_2", "d733dc28", 82.51, 126886696, 232, 224},
    KnownWeights{"Wide_ResNet50_2_Weights.IMAGENET1K_V1", "wide_resnet50_2", "95faca4d", 78.468, 68883240, 256, 224},
    KnownWeights{"Wide_ResNet50_2_Weights.IMAGENET1K_V2", "wide_resnet50_2", "9ba9bcbe", 81.602, 68883240, 232, 224}};

}  // namespace

std::span<const KnownWeights> ListKnownWeights() { return kKnown; }

const KnownWeights* FindKnownWeights(std::string_view digest) {
  for (const KnownWeights& known : kKnown)
    if (digest.starts_with(known.digest)) return &known;
  return nullptr;
}

}  // namespace retort::storage
