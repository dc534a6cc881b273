// `retort run` interrupted, killed, run again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/temporary_directory.h"
#include "tests/unit/orchestrator/process/sweep_process.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;

class RunSweepTest : public ::testing::Test {
 protected:
  testing::TemporaryDirectory folder_{testing::Place::memory};
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

// This build's library is not beside the scripted worker.
TEST_F(RunSweepTest, HostWithoutUsableDevicesTrainsOnCpus) {
  std::filesystem::create_directories(folder_ / "dev");
  std::ofstream(folder_ / "dev/nvidia0");
  const std::string environment = "TEST_DEVICE_DIRECTORY=" + (folder_ / "dev");
  Runner run(results_, {"1", "2"}, 2, Tool("scripted_worker"), {"/usr/bin/env", environment});
  EXPECT_EQ(run.Wait(), 0) << run.Log();
  EXPECT_THAT(run.Log(), HasSubstr("trials run on the CPU: 1 CUDA device cannot be used, this build has no "));
  EXPECT_EQ(Digests(results_).size(), 3U);
  std::ostringstream journal;
  journal << std::ifstream(results_ + "/journal.log", std::ios::binary).rdbuf();
  EXPECT_THAT(journal.str(), HasSubstr("device_notice"));
}

TEST_F(RunSweepTest, EditedSweepRunsOnlyNewTrials) {
  ASSERT_EQ(Runner(results_, {"1", "2"}).Wait(), 0);
  ASSERT_EQ(Runner(results_, {"1", "2", "7"}).Wait(), 0);
  for (std::size_t trial = 0; trial < 4; ++trial) EXPECT_EQ(CountAttempts(results_, trial), 1) << trial;
}

TEST_F(RunSweepTest, FaultyWorkersAreReplaced) {
  Runner run(results_, {"0", "0", "1001", "1002", "1003"}, 2);
  EXPECT_EQ(run.Wait(), 0) << run.Log();
  for (std::size_t trial = 0; trial < 3; ++trial) EXPECT_EQ(CountAttempts(results_, trial), 2);
  for (const char* cause : {"worker_killed", "about to die", "worker_hang", "bad_message"})
    EXPECT_THAT(run.Log(), HasSubstr(cause));
}

TEST_F(RunSweepTest, TrialThatFailsForGoodGivesExitOne) {
  Runner run(results_, {"0", "0", "1004", "5"});
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_THAT(run.Log(), HasSubstr("the loss is NaN at step 3"));
  EXPECT_EQ(Digests(results_).size(), 2U);
}

TEST_F(RunSweepTest, KilledOrchestratorLeavesNoWorker) {
  const std::string calm = folder_ / "calm";
  const std::vector<std::string> plan = {"1", "3", "1006"};
  ASSERT_EQ(Runner(calm, plan, 2).Wait(), 0);
  for (const int wait : {100, 300, 600}) {
    SCOPED_TRACE("killed after " + std::to_string(wait) + " ms");
    const std::string results = folder_ / ("killed-" + std::to_string(wait));
    Runner run(results, plan, 2);
    ASSERT_TRUE(Eventually([&] { return !ListChildren(run.pid()).empty(); }));
    std::this_thread::sleep_for(milliseconds(wait));
    const std::vector<pid_t> workers = ListChildren(run.pid());
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
    ASSERT_TRUE(Eventually([&] { return !(workers = ListChildren(run.pid())).empty(); }));
    std::this_thread::sleep_for(milliseconds(200));
    kill(workers[0], SIGKILL);
    ASSERT_TRUE(Eventually([&] { return !IsAlive(workers[0]); }));
  }
  EXPECT_EQ(run.Wait(), 0) << run.Log();
  EXPECT_EQ(CountAttempts(results_, 0), 4);
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
    EXPECT_EQ(CountAttempts(results, 0), 2);
  }
}

TEST_F(RunSweepTest, WorkerThatIgnoresStopIsKilledAfterTheGrace) {
  Runner run(results_, {"0", "0", "1008"});
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 0); }));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(), 75) << run.Log();
}

TEST_F(RunSweepTest, SecondSignalEndsAtOnceWith130) {
  Runner run(results_, {"0", "0", "1008"});
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 0); }));
  const std::vector<pid_t> workers = ListChildren(run.pid());
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
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 0); }));  // and seen as running from outside
  Runner second(results_, {"0", "0", "1006"});
  EXPECT_EQ(second.Wait(), 3);
  EXPECT_THAT(second.Log(), HasSubstr("process " + std::to_string(first.pid())));
  EXPECT_EQ(first.Wait(), 0);
}

TEST_F(RunSweepTest, IdlesBelowOnePercentOfACore) {
  Runner run(results_, {"0", "0", "1008"});
  ASSERT_TRUE(Eventually([&] { return IsRunning(results_, 0); }));
  std::this_thread::sleep_for(milliseconds(500));
  const double before = CpuSeconds(run.pid());
  const auto begun = steady_clock::now();
  std::this_thread::sleep_for(milliseconds(4000));
  const std::chrono::duration<double> passed = steady_clock::now() - begun;
  EXPECT_LE(CpuSeconds(run.pid()) - before, 0.01 * passed.count());
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

TEST_F(RunSweepTest, FullDiskEndsTheRunCleanlyAndTheNextOneGoesOn) {
  // No file may grow past 100 KiB: the journal will.
  Runner run(results_, {"1", "240"}, 2, Tool("scripted_worker"),
             {"/bin/bash", "-c", "trap '' XFSZ; ulimit -f 100; exec \"$@\"", "bash"});
  EXPECT_EQ(run.Wait(), 3);
  EXPECT_THAT(run.Log(), HasSubstr("journal.log"));
  EXPECT_THAT(run.Log(), HasSubstr("everything recorded before is kept"));
  EXPECT_FALSE(std::filesystem::exists(results_ + "/exit-code"));
  Runner again(results_, {"1", "240"}, 2);
  EXPECT_EQ(again.Wait(), 0) << again.Log();
  EXPECT_EQ(Digests(results_).size(), 241U);
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
