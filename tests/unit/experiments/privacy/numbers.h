// What many tests of the accountants need.
#pragma once

#include <functional>
#include <limits>

namespace retort::privacy {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The least epsilon whose delta is at most this one, where delta falls in epsilon.
inline double Root(const std::function<double(double)>& delta_at, double delta) {
  double low = 0;
  double high = 1;
  while (delta_at(high) > delta) high *= 2;
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (delta_at(middle) > delta ? low : high) = middle;
  }
  return high;
}

}  // namespace retort::privacy
