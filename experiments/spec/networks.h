// The networks that a sweep can name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace retort {

struct NamedNetwork {
  std::string_view name;
  std::int64_t least_extent;  // smallest height and width, in pixels, that leave every layer a pixel
};

inline constexpr std::array kNamedNetworks = {NamedNetwork{"datalens", 8}, NamedNetwork{"datalens-x0.125", 8},
                                              NamedNetwork{"tanh-cnn", 14}, NamedNetwork{"logistic", 1}};

// 1 for a name that is none of them.
constexpr std::int64_t LeastExtent(std::string_view name) {
  for (const NamedNetwork& network : kNamedNetworks)
    if (network.name == name) return network.least_extent;
  return 1;
}

}  // namespace retort
