#include "cluster/launch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::cluster {
namespace {

using ::testing::HasSubstr;

std::optional<AllocationEnd> Find(const std::vector<std::string>& environment) {
  const auto found = FindAllocationEnd(environment);
  EXPECT_TRUE(found.ok()) << found.status().message();
  return found.ok() ? *found : std::nullopt;
}

TEST(AllocationEndTest, OutsideAnAllocationThereIsNone) {
  EXPECT_FALSE(Find({}).has_value());
  EXPECT_FALSE(Find({"SLURM_JOB_ID=3", "RETORT_END_TIME=", "SLURM_JOB_END_TIME="}).has_value());
}

TEST(AllocationEndTest, SlurmNamesTheEndOfItsJob) {
  const auto end = Find({"SLURM_JOB_END_TIME=1800000000"});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->unix_seconds, 1.8e9);
  EXPECT_EQ(end->named_by, "SLURM_JOB_END_TIME");
}

TEST(AllocationEndTest, AJobWithoutALimitHasNoEnd) {
  for (const char* const none : {"0", "4294967294", "4294967295", "UNLIMITED"})
    EXPECT_FALSE(Find({std::string("SLURM_JOB_END_TIME=") + none}).has_value()) << none;
}

TEST(AllocationEndTest, TheScriptsOwnVariableComesFirst) {
  const auto end = Find({"SLURM_JOB_END_TIME=1800000000", "RETORT_END_TIME=1700000000"});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->unix_seconds, 1.7e9);
  EXPECT_EQ(end->named_by, "RETORT_END_TIME");
}

TEST(AllocationEndTest, ATimeThatIsNoneIsAUsageErrorWithAnExample) {
  for (const char* const wrong : {"soon", "-5", "12h", "1e9"}) {
    const auto end = FindAllocationEnd({std::string("RETORT_END_TIME=") + wrong});
    ASSERT_FALSE(end.ok()) << wrong;
    EXPECT_EQ(end.status().code(), StatusCode::usage);
    EXPECT_THAT(end.status().message(), HasSubstr(wrong));
    EXPECT_THAT(end.status().message(), HasSubstr("date -d"));
  }
}

TEST(AllocationEndTest, WorkEndsBeforeTheGracePeriodAndTheClosing) {
  const AllocationEnd end{1000, "X"};
  EXPECT_EQ(ComputeWorkSeconds(end, 900, 25), 100 - 25 - kClosingSeconds);
  EXPECT_LE(ComputeWorkSeconds(end, 960, 25), 0);
}

}  // namespace
}  // namespace retort::cluster
