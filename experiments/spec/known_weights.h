// Weight files that torchvision publishes, known by their digests.
#pragma once

#include <span>
#include <string_view>

namespace retort {

struct KnownWeights {
  std::string_view prefix;   // of the file's SHA-256: the digits in its published name
  std::string_view network;  // of experiments/spec/networks.h
  std::string_view name;     // torchvision's, e.g. "ResNet50_Weights.IMAGENET1K_V1"
};

[[nodiscard]] std::span<const KnownWeights> AllKnownWeights();
// `digest`: 64 hex digits. Null when it is none of them.
[[nodiscard]] const KnownWeights* FindKnownWeights(std::string_view digest);

}  // namespace retort
