// Parameters of a mechanism, drawn over all that is accepted.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "experiments/base/number_text.h"

namespace retort::privacy {

inline constexpr double kLeast = std::numeric_limits<double>::denorm_min(), kMost = std::numeric_limits<double>::max();

// Another stream for every test and round.
class Draw {
 public:
  explicit Draw(unsigned test) {
    const auto round = static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed());
    std::seed_seq seed{test, round};
    generator_.seed(seed);
  }
  // Uniform in the logarithm; now and then an end.
  double Log(double low, double high) {
    const double corner = Uniform();
    if (corner < 0.02) return low;
    if (corner > 0.98) return high;
    return std::clamp(std::exp(std::log(low) + Uniform() * (std::log(high) - std::log(low))), low, high);
  }
  double Whole(double low, double high) { return std::round(Log(low, high)); }
  // Small and ordinary deltas, and such as are nearly 1.
  double Delta() {
    const double kind = Uniform();
    if (kind < 0.1) return 1 - Log(1.2e-16, 0.9);
    return kind < 0.5 ? Log(1e-12, 0.5) : Log(kLeast, 0.9);
  }
  double Uniform() { return std::uniform_real_distribution<double>()(generator_); }
  // A little more, or much more.
  double More(double value) { return value * (1 + Log(1e-6, 1e3)); }

 private:
  std::mt19937_64 generator_;
};

inline std::string Text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += FormatExactNumber(value) + " ";
  return text;
}

}  // namespace retort::privacy
