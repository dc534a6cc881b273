#pragma once

#include <limits>

namespace retort {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace retort
