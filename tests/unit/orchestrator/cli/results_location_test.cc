#include "orchestrator/cli/commands/open_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace retort::orchestrator::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ResultsLocation : public ::testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(base_);
    fs::create_directories(base_);
  }
  void TearDown() override { fs::remove_all(base_); }
  void MakeResults(const std::string& name, int age_seconds) const {
    fs::create_directories(base_ / name);
    std::ofstream(base_ / name / "journal.log") << "x";
    fs::last_write_time(base_ / name / "journal.log",
                        fs::file_time_type::clock::now() - std::chrono::seconds(age_seconds));
  }
  [[nodiscard]] Result<FoundResults> Find(const std::string& named = "") const {
    return FindResults(storage::PosixEnv(), named, base_.string());
  }
  fs::path base_;
};

TEST_F(ResultsLocation, NewestJournalWins) {
  MakeResults("old", 100);
  MakeResults("new", 10);
  MakeResults("older", 200);
  fs::create_directories(base_ / "no-journal");
  const Result<FoundResults> found = Find();
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->directory, (base_ / "new").string());
  EXPECT_TRUE(found->chosen);
}

TEST_F(ResultsLocation, NamedFolderIsTakenAsItIs) {
  MakeResults("mine", 0);
  const Result<FoundResults> found = Find((base_ / "mine").string());
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->chosen);
}

TEST_F(ResultsLocation, NoneIsAnEnvironmentErrorThatSaysHowToMakeOne) {
  const Result<FoundResults> found = Find();
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::environment);
  EXPECT_THAT(found.status().message(), HasSubstr("retort run"));
  const Status nowhere = Find((base_ / "no where").string()).status();
  EXPECT_EQ(nowhere.code(), StatusCode::environment);
  EXPECT_THAT(nowhere.message(), HasSubstr("`retort run SWEEP --results '" + (base_ / "no where").string() + "'`"));
}

TEST_F(ResultsLocation, SweepCommandsDefaultToTheSweepsName) {
  EXPECT_EQ(FindResultsPath("", "quickstart"), "results/quickstart");
  EXPECT_EQ(FindResultsPath("out", "quickstart"), "out");
}

}  // namespace
}  // namespace retort::orchestrator::cli
