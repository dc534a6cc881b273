// `retort run` under mpirun: the same rows, the same exit codes, nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/temporary_directory.h"
#include "tests/unit/orchestrator/process/sweep_process.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kPlan = {"1", "3", "1006"};

// Live processes whose command line holds `text`.
std::vector<pid_t> ProcessesNaming(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ostringstream line;
    line << std::ifstream(entry.path() / "cmdline").rdbuf();
    const pid_t pid = std::stoi(name);
    if (line.str().find(text) != std::string::npos && IsAlive(pid)) found.push_back(pid);
  }
  return found;
}

class RunSweepMpiTest : public ::testing::Test {
 protected:
  static Runner Launch(const std::string& results) {
    return Runner(results, kPlan, 1, Tool("scripted_worker"),
                  {"/bin/bash", std::string(RETORT_SOURCE_DIR) + "/cluster/launch/mpirun.sh", "-np", "3"});
  }
  // Ranks of the run on `results`: agents whose first word is the program itself, not mpirun or the script.
  static std::vector<pid_t> Ranks(const std::string& results) {
    std::vector<pid_t> ranks;
    for (const pid_t pid : ProcessesNaming(results)) {
      std::string program;
      std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/cmdline"), program, '\0');
      if (program == Tool("sweep_runner")) ranks.push_back(pid);
    }
    return ranks;
  }
  testing::TemporaryDirectory folder_{testing::Place::memory};
  std::string results_ = folder_ / "results";
};

TEST_F(RunSweepMpiTest, ThreeRanksGiveTheSameRowsAsOneProcess) {
  const std::string alone = folder_ / "alone";
  ASSERT_EQ(Runner(alone, kPlan).Wait(), 0);
  Runner run = Launch(results_);
  EXPECT_EQ(run.Wait(), 0) << run.Log();
  EXPECT_EQ(Digests(results_), Digests(alone));
  EXPECT_GE(std::distance(std::filesystem::directory_iterator(results_ + "/workers"), {}), 2) << "one rank did it all";
  Runner again = Launch(results_);
  EXPECT_EQ(again.Wait(), 0);
  EXPECT_THAT(again.Log(), HasSubstr("nothing to do"));
}

TEST_F(RunSweepMpiTest, TermToTheWrapperExits75AndTheNextRunGoesOn) {
  Runner run = Launch(results_);
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 0) || CountAttempts(results_, 4) > 0; }));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 75) << run.Log();
  Runner again = Launch(results_);
  EXPECT_EQ(again.Wait(), 0) << again.Log();
}

TEST_F(RunSweepMpiTest, KilledRankEndsTheJobAndTheRowsAreTheSame) {
  const std::string alone = folder_ / "alone";
  ASSERT_EQ(Runner(alone, kPlan).Wait(), 0);
  Runner run = Launch(results_);
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 4); }));
  // A rank that starts a process is there twice until the child runs its own program.
  ASSERT_TRUE(Eventually([&] { return Ranks(results_).size() == 3; }));
  const std::vector<pid_t> ranks = Ranks(results_);
  std::vector<pid_t> workers;
  for (const pid_t rank : ranks)
    for (const pid_t worker : ListChildren(rank)) workers.push_back(worker);
  kill(ranks.back(), SIGKILL);
  EXPECT_NE(run.Wait(), 0);
  EXPECT_TRUE(Eventually([&] { return Ranks(results_).empty(); }));
  EXPECT_TRUE(Eventually([&] { return std::none_of(workers.begin(), workers.end(), IsAlive); }));
  Runner again = Launch(results_);
  EXPECT_EQ(again.Wait(), 0) << again.Log();
  EXPECT_EQ(Digests(results_), Digests(alone));
}

}  // namespace
}  // namespace retort::orchestrator
