#include "worker/run/attempt_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(AttemptCost, EnergyIsATimingOnlyWhereItIsKnown) {
  EXPECT_THAT(MakeTimings({3, 2, 0.5, std::nullopt}),
              ElementsAre(Pair("seconds", 3), Pair("training_seconds", 2), Pair("step_seconds", 0.5)));
  EXPECT_THAT(MakeTimings({3, 2, 0.5, 40}), ElementsAre(Pair("seconds", 3), Pair("training_seconds", 2),
                                                        Pair("step_seconds", 0.5), Pair("energy_joules", 40)));
}

TEST(AttemptCost, ADeviceThatIsNotCountedLeavesTheSumUnset) {
  const auto alone = MakeSoloCollective();
  for (const char* device : {"cpu", "cuda:0"}) {
    std::optional<double> joules = 7;
    ASSERT_TRUE(SumEnergyOverGang(device, nullptr, *alone, joules).ok());
    EXPECT_EQ(joules, std::nullopt) << device;
  }
}

}  // namespace
}  // namespace retort::worker
