// The Laplace sampler on random bits that the test chooses: what can be drawn at all, and how often.
#include "worker/noise/lattice_samplers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "worker/release/label_response.h"

namespace retort::worker::noise {
namespace {

__extension__ typedef unsigned __int128 Wide;
constexpr std::uint64_t kOnes = ~std::uint64_t{0};

// Random bits as written; what is left of them after a draw is told.
class Script {
 public:
  std::deque<std::uint64_t> words, coins;
  std::uint64_t NextU64() { return Next(words); }
  std::uint64_t Below(std::uint64_t count) { return Next(coins) % count; }
  [[nodiscard]] bool empty() const { return words.empty() && coins.empty(); }

 private:
  static std::uint64_t Next(std::deque<std::uint64_t>& queue) {
    if (queue.empty()) return 1;  // a coin that fails, and ends the draw
    const std::uint64_t front = queue.front();
    queue.pop_front();
    return front;
  }
};

// The rate as a / 2^w, by halving.
struct Ratio {
  explicit Ratio(double rate) {
    for (; rate != std::floor(rate); rate *= 2) ++width;
    numerator = static_cast<std::uint64_t>(rate);
  }
  std::uint64_t numerator;
  int width = 0;
};

// Bits that make one draw `noise`.
Script BitsFor(double rate, std::int64_t noise) {
  const Ratio ratio(rate);
  const Wide magnitude = static_cast<Wide>(noise < 0 ? -noise : noise) * ratio.numerator;
  const auto units = static_cast<std::uint64_t>(magnitude >> ratio.width);
  const Wide fraction = magnitude - (Wide{units} << ratio.width);
  Script bits;
  const auto say = [&](Wide value, bool negative) {
    const Wide all = (value << (127 - ratio.width)) | (Wide{negative ? 1U : 0U} << 127);
    bits.words.push_back(static_cast<std::uint64_t>(all >> 64));
    if (ratio.width > 63) bits.words.push_back(static_cast<std::uint64_t>(all));
  };
  say(fraction, noise < 0);
  bits.words.push_back(kOnes);  // the coin of fraction / 2^w fails at once: accepted
  if (ratio.width > 63) bits.words.push_back(kOnes);
  for (std::uint64_t i = 0; i < units; ++i) bits.coins.insert(bits.coins.end(), {0, 1});  // a half, not a third
  return bits;
}

// Whatever the label, every outcome can occur: noise of `y` and of `y` less the one-hot vector's one are both
// drawn from some bits. A sampler whose tails end leaves outcomes to one label alone.
TEST(LatticeLaplace, EveryLabelReachesEveryOutcome) {
  for (const double epsilon0 : {1e-3, 0.1, 1.0, 3.7, 40.0, 95.9, 96.0, 96.1, 128.0, 300.0, 700.0}) {
    const double rate = release::LabelLaplaceRate(epsilon0);
    const LatticeLaplace laplace = LatticeLaplace::Create(rate).value();
    for (const double scales : {0.0, 0.4, 7.0, 47.9, 48.1, 64.0, 95.0, 100.0, 351.0, 1000.0}) {
      for (const int sign : {-1, 1}) {
        const auto outcome = static_cast<std::int64_t>(sign * scales / rate);
        for (const std::int64_t one : {std::int64_t{0}, release::kLabelSteps}) {
          Script bits = BitsFor(rate, outcome - one);
          ASSERT_EQ(laplace.Draw(bits), outcome - one) << epsilon0 << " " << scales;
          ASSERT_TRUE(bits.empty()) << epsilon0 << " " << scales;
        }
      }
    }
  }
}

// Bits that never end a draw.
struct Endless {
  bool failed = true;
  static std::uint64_t NextU64() { return kOnes; }
  std::uint64_t Below(std::uint64_t) { return (failed = !failed) ? 1 : 0; }
};

TEST(LatticeLaplace, BeyondItsReachMagnitudesAreOne) {
  for (const double rate : {0x1p-50, 0x1p-21, 0.3, 16.0}) {
    const LatticeLaplace laplace = LatticeLaplace::Create(rate).value();
    EXPECT_GE(static_cast<double>(laplace.reach()) * rate, std::min(0x1p23, 0x1p61 * rate));
    Endless bits;
    EXPECT_EQ(laplace.Draw(bits), -laplace.reach()) << rate;
  }
}

TEST(LatticeLaplace, NoughtHasOneSign) {
  const double rate = 0x1p-10;
  Script bits = BitsFor(rate, 0);
  bits.words.front() |= std::uint64_t{1} << 63;  // minus nought, refused
  const Script again = BitsFor(rate, -5);
  bits.coins.push_back(1);
  bits.words.insert(bits.words.end(), again.words.begin(), again.words.end());
  EXPECT_EQ(LatticeLaplace::Create(rate).value().Draw(bits), -5);
}

TEST(LatticeLaplace, RatesOutOfRangeAreUsageErrors) {
  for (const double rate : {0.0, 0x1p-51, 16.1, -1.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(LatticeLaplace::Create(rate).status().code(), StatusCode::usage) << rate;
}

}  // namespace
}  // namespace retort::worker::noise
