// When checkpoints are written, how many stay, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/results/checkpoint_store.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> ListSteps(const FakeTrialHost& host) {
  std::vector<std::int64_t> steps;
  for (const cluster::CheckpointCommitted& committed : host.checkpoints) steps.push_back(committed.step);
  return steps;
}

class CheckpointRules : public ::testing::Test {
 protected:
  CheckpointRules() { spec_ = tiny_.DpSgdStudent(); }  // six steps
  cluster::Ended Run(std::uint32_t attempt, FakeTrialHost& host) {
    return RunTrial(tiny_.Order(spec_, "trial", attempt), host, storage::PosixEnv());
  }
  // Attempt 1, stopped before its fourth step.
  void Interrupt() {
    FakeTrialHost host;
    host.stop_at = 4;
    ASSERT_EQ(Run(1, host).failure, FailureKind::stopped);
  }
  // Writes the newest checkpoint of attempt 1 anew with another attribute.
  void Restamp(const std::string& key, const std::string& value) {
    auto store = storage::CheckpointStore::Open(storage::PosixEnv(), tiny_ / "trials/trial", 1);
    ASSERT_TRUE(store.ok()) << store.status().message();
    auto latest = (*store)->Latest();
    ASSERT_TRUE(latest.ok() && latest->has_value());
    if (value.empty())
      (*latest)->attributes.erase(key);
    else
      (*latest)->attributes[key] = value;
    ASSERT_TRUE((*store)->Commit(**latest).ok());
  }
  const TinyTrials tiny_;
  TrialSpec spec_;
};

TEST_F(CheckpointRules, ScheduleCountsSteps) {
  spec_.execution.checkpoint_steps = 2;
  FakeTrialHost host;
  ASSERT_TRUE(Run(1, host).succeeded);
  EXPECT_THAT(ListSteps(host), ElementsAre(0, 2, 4)) << "after the last step there is attempt.h5";
}

TEST_F(CheckpointRules, ScheduleOfStepsCountsFromTheResumedCheckpoint) {
  Interrupt();
  spec_.execution.checkpoint_steps = 2;
  FakeTrialHost host;
  ASSERT_TRUE(Run(2, host).succeeded);
  EXPECT_THAT(ListSteps(host), ElementsAre(5));
}

TEST_F(CheckpointRules, AsManyStayAsAreKept) {
  spec_.execution.checkpoint_steps = 1;
  spec_.execution.checkpoint_keep = 3;
  FakeTrialHost host;
  host.stop_at = 6;
  ASSERT_EQ(Run(1, host).failure, FailureKind::stopped);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tiny_ / "trials/trial/attempt-1"))
    files += entry.path().filename().string().starts_with("checkpoint-") ? 1 : 0;
  EXPECT_EQ(files, 3);
}

TEST_F(CheckpointRules, OfAnotherGangIsRefusedWithTheReason) {
  Interrupt();
  Restamp("gang_size", "4");
  FakeTrialHost host;
  const cluster::Ended ended = Run(2, host);
  EXPECT_EQ(ended.failure, FailureKind::configuration) << ended.detail;
  EXPECT_THAT(ended.detail, HasSubstr("the gang's size differs (the checkpoint has 4, this attempt 1)"));
  EXPECT_TRUE(host.grants.empty());
}

TEST_F(CheckpointRules, OfAnotherSpecIsRefusedWithTheReason) {
  Interrupt();
  spec_.optimization.lr = 0.25;
  FakeTrialHost host;
  const cluster::Ended ended = Run(2, host);
  EXPECT_EQ(ended.failure, FailureKind::configuration) << ended.detail;
  EXPECT_THAT(ended.detail, HasSubstr("the trial's spec differs"));
}

TEST_F(CheckpointRules, OfAnotherRevisionIsRefusedWithTheReason) {
  Interrupt();
  for (const char* revision : {"2", ""}) {
    Restamp("revision", revision);
    FakeTrialHost host;
    const cluster::Ended ended = Run(2, host);
    EXPECT_EQ(ended.failure, FailureKind::configuration) << ended.detail;
    EXPECT_THAT(ended.detail, HasSubstr("revision"));
    std::filesystem::remove_all(tiny_ / "trials/trial/attempt-2");
  }
}

}  // namespace
}  // namespace retort::worker
