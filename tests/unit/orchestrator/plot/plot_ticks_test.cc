#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orchestrator/plot/scales.h"

namespace retort::orchestrator::plot {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

TEST(Ticks, LinearOnesAreRoundNumbers) {
  EXPECT_THAT(Labels(MakeLinearTicks({0, 100}, 5)), ElementsAre("0", "25", "50", "75", "100"));
  EXPECT_THAT(Labels(MakeLinearTicks({83.2, 97.9}, 4)), ElementsAre("85", "90", "95"));
  EXPECT_THAT(Labels(MakeLinearTicks({-0.03, 0.021}, 6)),
              ElementsAre("-0.03", "-0.02", "-0.01", "0.00", "0.01", "0.02"));
  EXPECT_THAT(Labels(MakeLinearTicks({0, 120000}, 4)), ElementsAre("0", "50,000", "100,000"));
}

TEST(Ticks, LinearOnesLieInsideAndAreNoMoreThanAskedFor) {
  for (double low = -7.3; low < 5; low += 0.37) {
    for (double span = 1e-4; span < 1e6; span *= 3.7) {
      for (int most = 2; most < 12; ++most) {
        const Range range{low, low + span};
        const std::vector<Tick> ticks = MakeLinearTicks(range, most);
        ASSERT_LE(ticks.size(), static_cast<std::size_t>(most)) << low << " " << span;
        ASSERT_GE(ticks.size(), 1U) << low << " " << span << " " << most;
        for (const Tick& tick : ticks) {
          ASSERT_GE(tick.at, range.low - 1e-6 * span);
          ASSERT_LE(tick.at, range.high + 1e-6 * span);
        }
        std::vector<std::string> labels = Labels(ticks);
        ASSERT_EQ(std::unique(labels.begin(), labels.end()), labels.end()) << low << " " << span;
      }
    }
  }
}

TEST(Ticks, AnEmptyRangeHasOne) { EXPECT_THAT(Labels(MakeLinearTicks({3, 3}, 5)), ElementsAre("3")); }

TEST(Ticks, LogarithmicOnesArePowersOfTen) {
  EXPECT_THAT(Labels(MakeLogTicks({1e-5, 1}, 9)), ElementsAre("10⁻⁵", "10⁻⁴", "0.001", "0.01", "0.1", "1"));
  EXPECT_THAT(Labels(MakeLogTicks({1e-5, 1}, 3)), ElementsAre("10⁻⁵", "0.001", "0.1"));
}

TEST(Ticks, FewDecadesAreFilledWithTwosAndFives) {
  EXPECT_THAT(Labels(MakeLogTicks({15, 600}, 9)), ElementsAre("20", "50", "100", "200", "500"));
}

TEST(Ticks, LogarithmicMinorOnesLieBetweenThePowers) {
  const std::vector<double> minor = MakeLogMinorTicks({8, 35});
  EXPECT_THAT(minor, ElementsAre(8, 9, 20, 30));
}

TEST(Ticks, NumbersReadAsAPersonWouldWriteThem) {
  EXPECT_EQ(FormatAxisNumber(0), "0");
  EXPECT_EQ(FormatAxisNumber(0.25), "0.25");
  EXPECT_EQ(FormatAxisNumber(50000), "50,000");
  EXPECT_EQ(FormatAxisNumber(1e-5), "10⁻⁵");
  EXPECT_EQ(FormatAxisNumber(3e-6), "3×10⁻⁶");
  EXPECT_EQ(FormatAxisNumber(2.5e9), "2.5×10⁹");
  EXPECT_EQ(FormatAxisNumber(-1e-7), "-10⁻⁷");
  EXPECT_EQ(FormatAxisNumber(0.1 + 0.2), "0.3");
}

}  // namespace
}  // namespace retort::orchestrator::plot
