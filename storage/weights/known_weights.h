// torchvision's weights by the digest that its file names carry, so that V1 and V2 are told apart.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace retort::storage {

// Source: torchvision 0.26.0, the `meta` and `transforms` of its enums.
struct KnownWeights {
  std::string_view name;       // "ResNet50_Weights.IMAGENET1K_V2"
  std::string_view network;    // "resnet50", torchvision's name
  std::string_view digest;     // first hex digits of the file's SHA-256, as in resnet50-11ad3fa6.pth
  double accuracy;             // top 1 on ImageNet's validation set, per cent
  std::int64_t parameters;     // without auxiliary heads
  std::int32_t resize, crop;   // pixels: of the short side, then of the centre
  bool bicubic = false;        // else bilinear
  std::string_view file = {};  // of its file's name what stands before the digest; empty: `network`
};

[[nodiscard]] std::span<const KnownWeights> ListKnownWeights();

// Null for a digest (SHA-256, hex) that is none of theirs.
[[nodiscard]] const KnownWeights* FindKnownWeights(std::string_view digest);

}  // namespace retort::storage
