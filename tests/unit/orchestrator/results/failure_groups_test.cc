#include "orchestrator/results/sweep_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;

TrialView Failed(FailureKind kind, const std::string& detail, TrialState state = TrialState::failed) {
  TrialView trial;
  trial.state = state;
  trial.failure = kind;
  trial.detail = detail;
  return trial;
}

TEST(FailureGroups, LargestIsFirstAndEachKeepsItsOrder) {
  const std::vector<TrialView> trials = {Failed(FailureKind::disk, "The disk is full."),
                                         Failed(FailureKind::worker_crash, "Worker process 3 exited with code 1."),
                                         Failed(FailureKind::worker_crash, "Worker process 20 exited with code 1. Bye"),
                                         Failed(FailureKind::data, "The disk is full."),
                                         Failed(FailureKind::disk, "The disk is full.", TrialState::queued)};
  TrialGroup all;
  for (const TrialView& trial : trials) all.push_back(&trial);
  EXPECT_THAT(GroupFailures(all), ElementsAre(ElementsAre(&trials[1], &trials[2]), ElementsAre(&trials[0]),
                                              ElementsAre(&trials[3]), ElementsAre(&trials[4])));
  EXPECT_TRUE(GroupFailures({}).empty());
}

TEST(FailureGroups, OfTrialsThatAreNotFinalTheStateDoesNotMatter) {
  const TrialView queued = Failed(FailureKind::disk, "", TrialState::queued);
  const TrialView running = Failed(FailureKind::disk, "", TrialState::running);
  EXPECT_THAT(GroupFailures({&queued, &running}), ElementsAre(ElementsAre(&queued, &running)));
}

TEST(FailureGroups, FirstSentenceEndsAtAStopOrWithTheLine) {
  EXPECT_EQ(FindFirstSentence("It broke. Then more"), "It broke");
  EXPECT_EQ(FindFirstSentence("It broke.\nThen more"), "It broke");
  EXPECT_EQ(FindFirstSentence("It broke\nThen more"), "It broke");
  EXPECT_EQ(FindFirstSentence("loss is 1.5 at step 3."), "loss is 1.5 at step 3");
  EXPECT_EQ(FindFirstSentence(""), "");
  EXPECT_EQ(FindFirstSentence("a\tb \xff"), "a b ?");
}

TEST(FailureGroups, DetailIsWholeWhereItIsShort) {
  EXPECT_EQ(ShortenDetail("It broke. Twice.", 16), "It broke. Twice.");
  EXPECT_EQ(ShortenDetail("It broke. Twice.", 15), "It broke");
  EXPECT_EQ(ShortenDetail("It broke. Twice.", 5), "It b…");
}

}  // namespace
}  // namespace retort::orchestrator::cli
