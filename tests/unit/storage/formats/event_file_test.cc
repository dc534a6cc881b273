// Numbers of event files: float32 that never claims more than the number itself.
#include "storage/formats/event_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace retort::storage {
namespace {

constexpr float kMax = std::numeric_limits<float>::max(), kInfinity = std::numeric_limits<float>::infinity();

TEST(RoundToFloat, BoundsStayOnTheirSideOfTheNumber) {
  int lower = 0, higher = 0;
  for (int thousandths = 1; thousandths <= 20000; ++thousandths) {
    const double value = thousandths / 1000.0;
    const float nearest = RoundToFloat(value, Rounding::nearest);
    const float up = RoundToFloat(value, Rounding::up), down = RoundToFloat(value, Rounding::down);
    lower += nearest < value ? 1 : 0;
    higher += nearest > value ? 1 : 0;
    ASSERT_GE(static_cast<double>(up), value);
    ASSERT_LE(static_cast<double>(down), value);
    ASSERT_TRUE(up == nearest || down == nearest) << value;
    ASSERT_LE(up, std::nextafter(down, kInfinity)) << value;
  }
  EXPECT_GT(lower, 5000);
  EXPECT_GT(higher, 5000);
}

TEST(RoundToFloat, WhatFloatHoldsIsKept) {
  for (const Rounding rounding : {Rounding::nearest, Rounding::up, Rounding::down}) {
    for (const float value : {0.0F, -0.5F, 3.0F, kMax, -kMax, kInfinity, -kInfinity})
      EXPECT_EQ(RoundToFloat(value, rounding), value);
    EXPECT_TRUE(std::isnan(RoundToFloat(std::nan(""), rounding)));
  }
}

TEST(RoundToFloat, WhatIsOutOfRangeIsBounded) {
  EXPECT_EQ(RoundToFloat(1e39, Rounding::nearest), kInfinity);
  EXPECT_EQ(RoundToFloat(1e39, Rounding::up), kInfinity);
  EXPECT_EQ(RoundToFloat(1e39, Rounding::down), kMax);
  EXPECT_EQ(RoundToFloat(-1e39, Rounding::up), -kMax);
  EXPECT_EQ(RoundToFloat(1e-60, Rounding::up), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(RoundToFloat(1e-60, Rounding::down), 0.0F);
}

}  // namespace
}  // namespace retort::storage
