#include "worker/run/attempt_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(AttemptCost, WhatDevicesDidIsATimingOnlyWhereItIsKnown) {
  EXPECT_THAT(MakeTimings({3, 2, 0.5, {}}),
              ElementsAre(Pair("seconds", 3), Pair("training_seconds", 2), Pair("step_seconds", 0.5)));
  EXPECT_THAT(MakeTimings({3, 2, 0.5, {40, 0.25}}),
              ElementsAre(Pair("seconds", 3), Pair("training_seconds", 2), Pair("step_seconds", 0.5),
                          Pair("energy_joules", 40), Pair("device_busy", 0.25)));
}

TEST(AttemptCost, ADeviceThatIsNotCountedLeavesTheSumUnset) {
  const auto alone = MakeSoloCollective();
  for (const char* device : {"cpu", "cuda:0"}) {
    DeviceUse use{7, 0.5};
    ASSERT_TRUE(MeasureDevices(device, nullptr, *alone, use).ok());
    EXPECT_EQ(use.joules, std::nullopt) << device;
    EXPECT_EQ(use.busy, std::nullopt) << device;
  }
}

}  // namespace
}  // namespace retort::worker
