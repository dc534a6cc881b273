// `retort run` as a process, with workers that train nothing: interrupted, killed, run again.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "orchestrator/results_view.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

std::string Tool(const std::string& name) { return std::string(RETORT_BINARY_DIR) + "/tests/" + name; }

// A sweep_runner process.
class Runner {
 public:
  Runner(const std::string& results, const std::vector<std::string>& plan, int slots = 1,
         const std::string& worker = Tool("scripted_worker"))
      : log_(results + ".log") {
    std::vector<std::string> arguments = {Tool("sweep_runner"), results, worker, std::to_string(slots)};
    arguments.insert(arguments.end(), plan.begin(), plan.end());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    EXPECT_EQ(posix_spawn(&pid_, argv[0], &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
  }
  ~Runner() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    Wait();
  }
  // The exit code; 128 + signal.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void Signal(int signal) const { kill(pid_, signal); }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }

 private:
  pid_t pid_ = -1;
  std::string log_;
};

template <typename Condition>
bool Eventually(Condition condition) {
  const auto until = steady_clock::now() + std::chrono::seconds(30);
  while (steady_clock::now() < until) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

bool IsAlive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string word, state;
  if (!(file >> word)) return false;
  file >> word >> state;
  return state != "Z";
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t child = 0; file >> child;)
    if (IsAlive(child)) children.push_back(child);
  return children;
}

std::map<std::string, std::string> Digests(const std::string& results) {
  std::map<std::string, std::string> digests;
  const Result<ResultsView> view = ReadResults(storage::PosixEnv(), results);
  EXPECT_TRUE(view.ok()) << view.status().message();
  if (view.ok())
    for (const TrialView& trial : view->trials)
      if (trial.row) digests[trial.spec.name] = trial.row->row_digest;
  return digests;
}

int AttemptsOf(const std::string& results, std::size_t trial) {
  const Result<ResultsView> view = ReadResults(storage::PosixEnv(), results);
  return view.ok() && trial < view->trials.size() ? static_cast<int>(view->trials[trial].attempts) : -1;
}

// Its worker has spoken.
bool IsRunning(const std::string& results, std::size_t trial) {
  const Result<ResultsView> view = ReadResults(storage::PosixEnv(), results);
  return view.ok() && trial < view->trials.size() && view->trials[trial].state == TrialState::running;
}

class RunSweepTest : public ::testing::Test {
 protected:
  testing::TemporaryDirectory folder_;
  std::string results_ = folder_ / "results";
};

TEST_F(RunSweepTest, FinishesAndLeavesEverythingBehind) {
  Runner run(results_, {"1", "2"}, 2);
  EXPECT_EQ(run.Wait(), 0) << run.Log();
  for (const char* name : {"journal.log", "ledger.log", "sweep.toml", "results.h5", "metrics.prom", "targets.json"})
    EXPECT_TRUE(std::filesystem::exists(results_ + "/" + name)) << name;
  std::string code;
  std::ifstream(results_ + "/exit-code") >> code;
  EXPECT_EQ(code, "0");
  EXPECT_EQ(Digests(results_).size(), 3U);
}

TEST_F(RunSweepTest, FinishedSweepDoesNothingInUnderASecond) {
  ASSERT_EQ(Runner(results_, {"1", "2"}, 2).Wait(), 0);
  const auto bytes = std::filesystem::file_size(results_ + "/journal.log");
  Runner again(results_, {"1", "2"}, 2, "/no/worker/is/needed");
  rusage usage{};
  int status = 0;
  wait4(again.pid(), &status, 0, &usage);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(again.Log(), HasSubstr("nothing to do"));
  EXPECT_EQ(std::filesystem::file_size(results_ + "/journal.log"), bytes);
  EXPECT_EQ(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec, 0) << "over a second of computing";
}

TEST_F(RunSweepTest, EditedSweepRunsOnlyNewTrials) {
  ASSERT_EQ(Runner(results_, {"1", "2"}).Wait(), 0);
  ASSERT_EQ(Runner(results_, {"1", "2", "7"}).Wait(), 0);
  for (std::size_t trial = 0; trial < 4; ++trial) EXPECT_EQ(AttemptsOf(results_, trial), 1) << trial;
}

TEST_F(RunSweepTest, CrashedSilentAndBabblingWorkersAreReplacedAndTheirTrialsEndWell) {
  Runner run(results_, {"0", "0", "1001", "1002", "1003"}, 2);
  EXPECT_EQ(run.Wait(), 0) << run.Log();
  for (std::size_t trial = 0; trial < 3; ++trial) EXPECT_EQ(AttemptsOf(results_, trial), 2);
  for (const char* cause : {"worker_crash", "about to die", "worker_hang", "bad_message"})
    EXPECT_THAT(run.Log(), HasSubstr(cause));
}

TEST_F(RunSweepTest, TrialThatFailsForGoodGivesExitOne) {
  Runner run(results_, {"0", "0", "1004", "5"});
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_THAT(run.Log(), HasSubstr("the loss is NaN at step 3"));
  EXPECT_EQ(Digests(results_).size(), 2U);
}

TEST_F(RunSweepTest, SigkillOfTheOrchestratorLeavesNoWorkerAndTheNextRunGivesTheSameRows) {
  const std::string calm = folder_ / "calm";
  const std::vector<std::string> plan = {"1", "3", "1006"};
  ASSERT_EQ(Runner(calm, plan, 2).Wait(), 0);
  for (const int wait : {100, 300, 600}) {
    SCOPED_TRACE("killed after " + std::to_string(wait) + " ms");
    const std::string results = folder_ / ("killed-" + std::to_string(wait));
    Runner run(results, plan, 2);
    ASSERT_TRUE(Eventually([&] { return !ChildrenOf(run.pid()).empty(); }));
    std::this_thread::sleep_for(milliseconds(wait));
    const std::vector<pid_t> workers = ChildrenOf(run.pid());
    run.Signal(SIGKILL);
    EXPECT_EQ(run.Wait(), 128 + SIGKILL);
    EXPECT_TRUE(Eventually([&] { return std::none_of(workers.begin(), workers.end(), IsAlive); }));
    Runner again(results, plan, 2);
    EXPECT_EQ(again.Wait(), 0) << again.Log();
    EXPECT_EQ(Digests(results), Digests(calm));
  }
}

TEST_F(RunSweepTest, SigkillOfAWorkerIsSurvived) {
  Runner run(results_, {"0", "0", "1006"});
  for (int kills = 0; kills < 3; ++kills) {
    std::vector<pid_t> workers;
    ASSERT_TRUE(Eventually([&] { return !(workers = ChildrenOf(run.pid())).empty(); }));
    std::this_thread::sleep_for(milliseconds(200));
    kill(workers[0], SIGKILL);
    ASSERT_TRUE(Eventually([&] { return !IsAlive(workers[0]); }));
  }
  EXPECT_EQ(run.Wait(), 0) << run.Log();
  EXPECT_EQ(AttemptsOf(results_, 0), 4);
}

TEST_F(RunSweepTest, FirstSignalSavesAndExits75AndTheNextRunGoesOn) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    const std::string results = folder_ / ("signal-" + std::to_string(signal));
    Runner run(results, {"0", "0", "1006"});
    ASSERT_TRUE(Eventually([&] { return IsRunning(results, 0); }));
    run.Signal(signal);
    EXPECT_EQ(run.Wait(), 75) << run.Log();
    Runner again(results, {"0", "0", "1006"});
    EXPECT_EQ(again.Wait(), 0) << again.Log();
    EXPECT_EQ(AttemptsOf(results, 0), 2);
  }
}

TEST_F(RunSweepTest, WorkerThatIgnoresStopIsKilledAfterTheGrace) {
  Runner run(results_, {"0", "0", "1007"});
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 0); }));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 75) << run.Log();
}

TEST_F(RunSweepTest, SecondSignalEndsAtOnceWith130) {
  Runner run(results_, {"0", "0", "1007"});
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 0); }));
  const std::vector<pid_t> workers = ChildrenOf(run.pid());
  run.Signal(SIGINT);
  std::this_thread::sleep_for(milliseconds(700));
  run.Signal(SIGINT);
  const auto asked = steady_clock::now();
  EXPECT_EQ(run.Wait(), 130) << run.Log();
  EXPECT_LT(steady_clock::now() - asked, milliseconds(1000));
  EXPECT_TRUE(Eventually([&] { return std::none_of(workers.begin(), workers.end(), IsAlive); }));
}

TEST_F(RunSweepTest, SecondRunOnTheSameFolderIsRefusedAndNamesTheHolder) {
  Runner first(results_, {"0", "0", "1006"});
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 0); }));   // and seen as running from outside
  Runner second(results_, {"0", "0", "1006"});
  EXPECT_EQ(second.Wait(), 3);
  EXPECT_THAT(second.Log(), HasSubstr("process " + std::to_string(first.pid())));
  EXPECT_EQ(first.Wait(), 0);
}

TEST_F(RunSweepTest, MissingWorkerProgramIsAnEnvironmentError) {
  Runner run(results_, {"1", "0"}, 1, "/no/such/worker");
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.Log(), HasSubstr("/no/such/worker"));
}

TEST_F(RunSweepTest, WorkerThatNeverStartsFailsItsTrialWithTheReason) {
  Runner run(results_, {"0", "0", "5"}, 1, "/bin/false");
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_THAT(run.Log(), HasSubstr("spawn"));
}

TEST_F(RunSweepTest, ResultsFolderThatIsAFileIsAnEnvironmentError) {
  std::ofstream(results_) << "a file";
  Runner run(results_, {"1", "0"});
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.Log(), HasSubstr("a file and not a folder"));
}

TEST_F(RunSweepTest, FolderOfAnotherSweepOrGarbageIsRefused) {
  std::filesystem::create_directories(results_);
  std::ofstream(results_ + "/journal.log") << "this is no journal of anything, whatever it says";
  Runner run(results_, {"1", "0"});
  EXPECT_NE(run.Wait(), 0);
  EXPECT_THAT(run.Log(), HasSubstr("journal.log"));
}

TEST_F(RunSweepTest, WhatWorkersUsedIsInTheLedgerAndInTheClaims) {
  ASSERT_EQ(Runner(results_, {"0", "0", "5"}).Wait(), 0);
  const Result<ResultsView> view = ReadResults(storage::PosixEnv(), results_);
  ASSERT_TRUE(view.ok());
  ASSERT_FALSE(view->ledger.empty());
  EXPECT_EQ(view->ledger[0].state, storage::LedgerState::settled);
  EXPECT_FALSE(view->trials[0].row->claims.empty());
}

}  // namespace
}  // namespace retort::orchestrator
