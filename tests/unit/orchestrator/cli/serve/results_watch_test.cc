// A folder that is looked at again and again is read when it has changed, and only then.
#include "orchestrator/cli/serve/results_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orchestrator/core/core.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/selection_draw.h"
#include "storage/log/privacy_ledger.h"
#include "tests/testing/temporary_directory.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator::cli {
namespace {

using retort::testing::MakePlan;
using retort::testing::TrialBuilder;
using ::testing::HasSubstr;

class ResultsWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const SweepPlan plan = MakePlan({TrialBuilder(1).Build(), TrialBuilder(2).Build()});
    Core core(Settings{.results = folder_.path(), .provenance_json = "{}"});
    auto journal = Journal::Open(env_, folder_.path(), core);
    ASSERT_TRUE(journal.ok());
    ASSERT_TRUE(journal
                    ->Commit({{1.0, SweepOpened{kResultsFormatVersion, "seen", "retort = 1\n", "{}"}},
                              {1.0, MakeTrialPlanned(plan.trials[0])},
                              {1.0, MakeTrialPlanned(plan.trials[1])},
                              {1.0, PlanAdopted{{plan.trials[0].id, plan.trials[1].id}}}})
                    .ok());
  }

  storage::Env& env_ = storage::PosixEnv();
  retort::testing::TemporaryDirectory folder_;
  ResultsWatch watch_{env_, folder_.path(), {}};
};

TEST_F(ResultsWatchTest, WhatHasNotChangedIsReadOnce) {
  const auto first = watch_.Look(100);
  ASSERT_TRUE(first.ok()) << first.status().message();
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ((*first)->summary["sweep"], "seen");
  EXPECT_EQ((*first)->summary["trials"], 2);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(watch_.Look(101 + i)->has_value());
  EXPECT_EQ(watch_.reads(), 1U);
}

TEST_F(ResultsWatchTest, ARunThatBeginsOrEndsIsSeen) {
  ASSERT_TRUE(watch_.Look(100).ok());
  {
    const auto lock = LockFolder(env_, folder_.path());
    ASSERT_TRUE(lock.ok());
    const auto running = watch_.Look(101);
    ASSERT_TRUE(running.ok() && running->has_value());
    EXPECT_TRUE((*running)->summary["running"]);
  }
  const auto ended = watch_.Look(102);
  ASSERT_TRUE(ended.ok() && ended->has_value());
  EXPECT_FALSE((*ended)->summary["running"]);
}

TEST_F(ResultsWatchTest, TimesOfARunAreToldAnewWithoutReading) {
  const auto lock = LockFolder(env_, folder_.path());
  ASSERT_TRUE(watch_.Look(100).ok());
  EXPECT_FALSE(watch_.Look(100 + ResultsWatch::kMaxAgeSeconds / 2)->has_value());
  EXPECT_TRUE(watch_.Look(100 + ResultsWatch::kMaxAgeSeconds)->has_value());
  EXPECT_EQ(watch_.reads(), 1U);
}

TEST_F(ResultsWatchTest, LookingWritesNothing) {
  ASSERT_TRUE(LockFolder(env_, folder_.path()).ok());  // leaves its file
  const auto list = [this] {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      all += entry.path().string() + " " + std::to_string(entry.last_write_time().time_since_epoch().count()) + "\n";
    return all;
  };
  const std::string before = list();
  ASSERT_TRUE(watch_.Look(100).ok());
  ASSERT_TRUE(watch_.MakeReport("", 100).ok());
  ASSERT_TRUE(watch_.Look(200).ok());
  EXPECT_EQ(list(), before);
}

TEST_F(ResultsWatchTest, AReportIsDueWhenTrialsHaveChanged) {
  EXPECT_FALSE(watch_.IsReportDue());
  ASSERT_TRUE(watch_.Look(100).ok());
  EXPECT_TRUE(watch_.IsReportDue());
  const Result<std::string> report = watch_.MakeReport("", 100);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(*report, HasSubstr("id=\"results\""));
  EXPECT_FALSE(watch_.IsReportDue());
}

TEST_F(ResultsWatchTest, TrialsThatASelectionHidesAreNotShown) {
  ASSERT_TRUE(watch_.Look(100).ok());
  ASSERT_TRUE(MarkHidden(env_, folder_.path()).ok());
  ResultsWatch other(env_, folder_.path(), {});
  const auto seen = other.Look(100);
  ASSERT_FALSE(seen.ok());
  EXPECT_THAT(seen.status().message(), HasSubstr("private selection"));
  EXPECT_FALSE(other.MakeReport("", 100).ok());
}

}  // namespace
}  // namespace retort::orchestrator::cli
