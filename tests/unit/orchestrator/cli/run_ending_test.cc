// What to type after a run.
#include "orchestrator/cli/commands/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Next(int code, bool all_ended = true) {
  return DescribeNextStep({code, all_ended, "s.toml", "results/s", "retort table s.toml --profile full"});
}

TEST(RunEnding, SuccessNamesTheTable) { EXPECT_EQ(Next(0), "next: retort table s.toml --profile full"); }

TEST(RunEnding, FailureNamesTheCausesAndTheSecondTry) {
  EXPECT_THAT(Next(1), AllOf(StartsWith("next: `retort status --results results/s`"),
                             HasSubstr("then `retort retry --failed --results results/s`")));
}

TEST(RunEnding, FoldersAreQuotedForTheShell) {
  EXPECT_EQ(DescribeNextStep({1, true, "s.toml", "my r", "retort table s.toml"}),
            "next: `retort status --results 'my r'` names the causes; then `retort retry --failed --results 'my r'`");
}

TEST(RunEnding, SpentQuotaNamesTheFileThatSetsIt) {
  EXPECT_THAT(Next(1, false), AllOf(HasSubstr("raise [sweep] quota in s.toml"), Not(HasSubstr("retry"))));
}

TEST(RunEnding, FullDiskSaysWhereRoomIsNeeded) {
  EXPECT_THAT(Next(3), HasSubstr("make room on the disk of results/s"));
}

TEST(RunEnding, InterruptionSaysThatTheSameCommandGoesOn) {
  EXPECT_THAT(Next(75), HasSubstr("run the same command again; it goes on where it stopped"));
  EXPECT_THAT(Next(130), HasSubstr("run the same command again; it goes on from the last checkpoints"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
