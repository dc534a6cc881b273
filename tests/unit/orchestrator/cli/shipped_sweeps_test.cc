#include "orchestrator/cli/commands/shipped_sweeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orchestrator/process/environment.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A prefix with two sweeps and a program, and a working folder beside it.
class ShippedSweeps : public ::testing::Test {
 protected:
  ShippedSweeps() : before_(fs::current_path()) {
    for (const char* name : {"quickstart", "dpsd/fig9"}) Touch(Configs() + name + ".toml");
    Touch(Configs() + "README.md");
    for (const char* programs : {"prefix/libexec/retort", "prefix/bin"}) fs::create_directories(folder_ / programs);
    fs::create_directories(folder_ / "work/fig9");
    fs::current_path(folder_ / "work");
  }
  ~ShippedSweeps() override { fs::current_path(before_); }
  static void Touch(const std::string& path) {
    fs::create_directories(fs::absolute(path).parent_path());
    std::ofstream(path) << "retort = 1\n";
  }
  [[nodiscard]] std::string Shared() const { return fs::canonical(folder_ / "prefix/share/retort").string(); }
  [[nodiscard]] std::string Configs() const { return folder_ / "prefix/share/retort/experiments/configs/"; }
  [[nodiscard]] std::string Find(const std::string& word) const { return FindSweepFile(word, Shared()); }

  testing::TemporaryDirectory folder_;
  fs::path before_;
};

TEST_F(ShippedSweeps, AreFoundBesideTheProgramAlone) {
  EXPECT_EQ(FindSharedFolder(folder_ / "prefix/libexec/retort"), Shared());
  EXPECT_EQ(FindSharedFolder(folder_ / "prefix/bin"), Shared());
  EXPECT_EQ(FindSharedFolder(folder_ / "work"), "");
  EXPECT_THAT(ListShippedSweeps(Shared()), ElementsAre("dpsd/fig9", "quickstart"));
  EXPECT_THAT(ListShippedSweeps(""), ElementsAre());
}

TEST_F(ShippedSweeps, NameMeansTheShippedFile) {
  for (const char* word : {"quickstart", "quickstart.toml", "experiments/configs/quickstart.toml"})
    EXPECT_EQ(Find(word), Shared() + "/experiments/configs/quickstart.toml") << word;
  EXPECT_EQ(Find("dpsd/fig9"), Shared() + "/experiments/configs/dpsd/fig9.toml");
}

TEST_F(ShippedSweeps, FileOfTheCurrentFolderWins) {
  Touch("quickstart.toml");
  EXPECT_EQ(Find("quickstart"), "quickstart.toml");
  Touch("quickstart");
  EXPECT_EQ(Find("quickstart"), "quickstart");
  EXPECT_EQ(Find("fig9"), "fig9") << "a folder is no sweep file";
}

TEST_F(ShippedSweeps, PathsStayPaths) {
  for (const char* word : {"./quickstart", "../quickstart", "/quickstart", "", "a/../quickstart"})
    EXPECT_EQ(Find(word), word);
  EXPECT_FALSE(DescribeUnknownSweep("./quickstrat", Shared()));
  EXPECT_FALSE(DescribeUnknownSweep("mine.toml", Shared()));
  EXPECT_FALSE(DescribeUnknownSweep("fig9", Shared())) << "a folder is told of as what it is";
}

TEST_F(ShippedSweeps, UnknownNameIsToldWithTheNames) {
  const std::optional<Diagnostic> unknown = DescribeUnknownSweep("quickstrat", Shared());
  ASSERT_TRUE(unknown);
  EXPECT_THAT(unknown->message, HasSubstr("`quickstrat`"));
  EXPECT_THAT(unknown->message, HasSubstr("dpsd/fig9, quickstart"));
  EXPECT_THAT(unknown->choices, ElementsAre("quickstart"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
