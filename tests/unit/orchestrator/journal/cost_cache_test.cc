#include "orchestrator/journal/cost_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orchestrator/process/environment.h"
#include "tests/testing/temporary_directory.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;

class CostCacheTest : public ::testing::Test {
 protected:
  [[nodiscard]] CostCache Open() const { return OpenCostCache(storage::PosixEnv(), environment()); }
  [[nodiscard]] std::vector<std::string> environment() const { return {"XDG_CACHE_HOME=" + folder_.path()}; }
  [[nodiscard]] CostModel Measured(const std::string& trial, double unit_seconds) const {
    CostModel costs;
    CostSample sample;
    sample.trial = trial;
    sample.unit_seconds = unit_seconds;
    costs.Add(ComputeCostShape(spec_, nullptr), sample);
    return costs;
  }
  testing::TemporaryDirectory folder_;
  TrialSpec spec_ = testing::TrialBuilder().Steps(1).Build();
};

TEST_F(CostCacheTest, WhatOneRunMeasuredTheNextOneKnows) {
  EXPECT_FALSE(Open().costs.For(spec_, nullptr));
  EXPECT_EQ(Open().warning, "");
  ASSERT_TRUE(SaveCosts(storage::PosixEnv(), Open(), Measured("a", 2)).ok());
  ASSERT_TRUE(SaveCosts(storage::PosixEnv(), Open(), Measured("b", 4)).ok());
  EXPECT_DOUBLE_EQ(Open().costs.For(spec_, nullptr)->seconds, 3);
}

TEST_F(CostCacheTest, AnotherMachinesFiguresStayAndAreNotUsed) {
  CostCache elsewhere = Open();
  elsewhere.machine = "another processor x512";
  ASSERT_TRUE(SaveCosts(storage::PosixEnv(), elsewhere, Measured("a", 0.001)).ok());
  EXPECT_FALSE(Open().costs.For(spec_, nullptr));
  ASSERT_TRUE(SaveCosts(storage::PosixEnv(), Open(), Measured("b", 4)).ok());
  EXPECT_DOUBLE_EQ(Open().costs.For(spec_, nullptr)->seconds, 4);
  EXPECT_THAT(*storage::PosixEnv().ReadFile(elsewhere.path), HasSubstr("another processor x512"));
}

TEST_F(CostCacheTest, BrokenFileIsLeftOutWithAWarningAndWrittenAnew) {
  const std::string path = Open().path;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << "{\"retort_costs\": 1, \"machi";
  EXPECT_THAT(Open().warning, HasSubstr(path));
  EXPECT_FALSE(Open().costs.For(spec_, nullptr));
  ASSERT_TRUE(SaveCosts(storage::PosixEnv(), Open(), Measured("a", 2)).ok());
  EXPECT_EQ(Open().warning, "");
  EXPECT_DOUBLE_EQ(Open().costs.For(spec_, nullptr)->seconds, 2);
}

TEST_F(CostCacheTest, WithoutACacheFolderNothingIsKept) {
  const CostCache none = OpenCostCache(storage::PosixEnv(), {"HOME=relative", "XDG_CACHE_HOME="});
  EXPECT_EQ(none.path, "");
  EXPECT_TRUE(SaveCosts(storage::PosixEnv(), none, Measured("a", 2)).ok());
}

TEST_F(CostCacheTest, FolderThatCannotBeMadeIsAnError) {
  std::ofstream(folder_.path() + "/retort") << "a file";
  EXPECT_EQ(SaveCosts(storage::PosixEnv(), Open(), Measured("a", 2)).code(), StatusCode::environment);
}

TEST_F(CostCacheTest, HeldByAnotherProcessItIsLeftToIt) {
  const CostCache cache = Open();
  ASSERT_TRUE(SaveCosts(storage::PosixEnv(), cache, Measured("a", 2)).ok());
  const auto lock = storage::PosixEnv().Lock(cache.path + ".lock");
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(SaveCosts(storage::PosixEnv(), cache, Measured("b", 4)).ok());
  EXPECT_DOUBLE_EQ(Open().costs.For(spec_, nullptr)->seconds, 2);
}

TEST(FindCacheDirectory, XdgThenHomeThenNothing) {
  EXPECT_EQ(FindCacheDirectory({"HOME=/h", "XDG_CACHE_HOME=/x"}), "/x/retort");
  EXPECT_EQ(FindCacheDirectory({"HOME=/h"}), "/h/.cache/retort");
  EXPECT_EQ(FindCacheDirectory({}), "");
}

TEST(FindMachineKind, NamesTheProcessorAndIsTheSameTwice) {
  EXPECT_EQ(FindMachineKind({}), FindMachineKind({}));
  EXPECT_THAT(FindMachineKind({}), HasSubstr(" x"));
}

}  // namespace
}  // namespace retort::orchestrator
