#include "cluster/worker_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "cluster/host.h"
#include "tests/testing/message_samples.h"
#include "tests/testing/temporary_directory.h"

namespace retort::cluster {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;
constexpr milliseconds kPatience(20'000);

WorkerCommand Fake(const std::string& what) {
  return {FAKE_WORKER, {what}, {"PATH=/usr/bin:/bin", "OMP_NUM_THREADS=2"}, "/dev/null"};
}

WorkerProcess SpawnFake(const std::string& what) {
  auto spawned = WorkerProcess::Spawn(Fake(what));
  RETORT_CHECK(spawned.ok());
  return std::move(*spawned);
}

ExitReport AwaitEnd(WorkerProcess& worker) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    if (auto report = worker.Reap()) return *report;
    std::this_thread::sleep_for(milliseconds(1));
  }
  ADD_FAILURE() << "the worker did not end";
  return {};
}

Hello AwaitHello(WorkerProcess& worker) {
  const auto envelope = worker.link().Receive(kPatience);
  if (envelope.ok() && envelope->has_value()) return std::get<Hello>((*envelope)->message);
  ADD_FAILURE() << "no Hello: " << envelope.status().message();
  return {};
}

bool Exists(pid_t pid) { return ::kill(pid, 0) == 0; }

// A process that has been killed may be a zombie of init's for a moment.
bool EndsSoon(pid_t pid) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < until) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(stat, line);
    if (line.empty() || line.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return false;
}

TEST(WorkerProcessTest, AWorkerTalksAndEndsOnStop) {
  WorkerProcess worker = SpawnFake("echo");
  AwaitHello(worker);
  ASSERT_TRUE(worker.link().Send(testing::SampleEnvelope(testing::SampleStart())).ok());
  const auto echoed = worker.link().Receive(kPatience);
  ASSERT_TRUE(echoed.ok() && echoed->has_value());
  EXPECT_FALSE(worker.Reap().has_value());
  ASSERT_TRUE(worker.link().Send(testing::SampleEnvelope(Stop{})).ok());
  const ExitReport report = AwaitEnd(worker);
  EXPECT_FALSE(report.signalled);
  EXPECT_EQ(report.value, 0);
  EXPECT_FALSE(worker.Reap().has_value());
  EXPECT_EQ(worker.pid(), -1);
}

TEST(WorkerProcessTest, EveryDeathIsReportedAsWhatItWas) {
  struct Case {
    const char* command;
    bool signalled;
    int value;
    const char* text;
  };
  const Case cases[] = {{"segfault", true, SIGSEGV, "SIGSEGV"},
                        {"abort", true, SIGABRT, "SIGABRT"},
                        {"exit-3", false, 3, "code 3"},
                        {"exit-at-once", false, 7, "code 7"}};
  for (const Case& expected : cases) {
    WorkerProcess worker = SpawnFake(expected.command);
    const ExitReport report = AwaitEnd(worker);
    EXPECT_EQ(report.signalled, expected.signalled) << expected.command;
    EXPECT_EQ(report.value, expected.value) << expected.command;
    EXPECT_EQ(report.failure, FailureKind::worker_crash);
    EXPECT_THAT(report.text, HasSubstr(expected.text));
  }
}

TEST(WorkerProcessTest, WhatWasSentBeforeTheEndCanStillBeReceived) {
  WorkerProcess worker = SpawnFake("exit-1");
  AwaitEnd(worker);
  AwaitHello(worker);
  EXPECT_EQ(worker.link().Receive(milliseconds(0)).status().code(), StatusCode::cancelled);
}

TEST(WorkerProcessTest, KillEndsAHangingAndAStoppedWorker) {
  for (const char* const command : {"hang", "stop"}) {
    WorkerProcess worker = SpawnFake(command);
    AwaitHello(worker);
    worker.Kill();
    const ExitReport report = AwaitEnd(worker);
    EXPECT_TRUE(report.signalled);
    EXPECT_EQ(report.value, SIGKILL);
    EXPECT_THAT(report.text, HasSubstr("on request of its agent"));
  }
}

TEST(WorkerProcessTest, AKillFromOutsideIsToldApart) {
  WorkerProcess worker = SpawnFake("hang");
  AwaitHello(worker);
  ::kill(worker.pid(), SIGKILL);
  EXPECT_THAT(AwaitEnd(worker).text, HasSubstr("from outside"));
}

TEST(OomKillsTest, AreReadFromTheKernelsCounters) {
  testing::TemporaryDirectory folder;
  const std::string path = folder / "vmstat";
  std::ofstream(path) << "nr_free_pages 12\noom_kill_other 9\noom_kill 3\nlast 1\n";
  EXPECT_EQ(CountOomKills(path), 3U);
  std::ofstream(path) << "nr_free_pages 12\n";
  EXPECT_EQ(CountOomKills(path), 0U);
  EXPECT_EQ(CountOomKills(folder / "nothing"), 0U);
}

TEST(WorkerProcessTest, AMalformedFrameIsRefusedAndTheAgentGoesOn) {
  WorkerProcess worker = SpawnFake("garbage");
  AwaitHello(worker);
  EXPECT_EQ(worker.link().Receive(kPatience).status().code(), StatusCode::refused);
  worker.Kill();
  AwaitEnd(worker);
}

TEST(WorkerProcessTest, KillAndReapOfNothingDoNothing) {
  WorkerProcess nothing;
  nothing.Kill();
  EXPECT_FALSE(nothing.Reap().has_value());
  EXPECT_FALSE(nothing.alive());
  WorkerProcess worker = SpawnFake("hang");
  const WorkerProcess moved = std::move(worker);
  worker.Kill();  // NOLINT(bugprone-use-after-move): that is the test
  EXPECT_TRUE(Exists(moved.pid()));
}

TEST(WorkerProcessTest, KillAfterReapingHitsNobody) {
  WorkerProcess worker = SpawnFake("exit-0");
  AwaitEnd(worker);
  worker.Kill();
  EXPECT_FALSE(worker.Reap().has_value());
}

TEST(WorkerProcessTest, TheDestructorLeavesNoProcessAndNoZombie) {
  pid_t pid = -1;
  {
    WorkerProcess worker = SpawnFake("hang");
    AwaitHello(worker);
    pid = worker.pid();
  }
  EXPECT_FALSE(Exists(pid));
}

TEST(WorkerProcessTest, ProcessesTheWorkerLeftAreKilledWhenItIsReaped) {
  const auto log = std::filesystem::temp_directory_path() / ("retort-fork-" + std::to_string(::getpid()));
  WorkerCommand command = Fake("fork");
  command.log_path = log;
  auto worker = WorkerProcess::Spawn(command);
  ASSERT_TRUE(worker.ok());
  AwaitEnd(*worker);
  std::ifstream in(log);
  std::string word;
  pid_t grandchild = 0;
  in >> word >> grandchild;
  std::filesystem::remove(log);
  ASSERT_GT(grandchild, 1);
  EXPECT_TRUE(EndsSoon(grandchild));
}

TEST(WorkerProcessTest, TheWorkerGetsItsSocketOnlyAndCleanSignals) {
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGTERM, &ignore, &before);
  sigset_t usr1;
  ::sigemptyset(&usr1);
  ::sigaddset(&usr1, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  const int leak = ::dup(0);
  WorkerProcess worker = SpawnFake("surroundings");
  ::close(leak);
  ::pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);
  ::sigaction(SIGTERM, &before, nullptr);

  const std::string seen = AwaitHello(worker).build;
  EXPECT_EQ(seen, "fd 0\nfd 1\nfd 2\nfd 3\nleads its group\nenv PATH=/usr/bin:/bin\nenv OMP_NUM_THREADS=2\n");
}

TEST(WorkerProcessTest, OutputGoesToTheLogFile) {
  const auto log = std::filesystem::temp_directory_path() / ("retort-log-" + std::to_string(::getpid()));
  WorkerCommand command = Fake("write-log");
  command.log_path = log;
  auto worker = WorkerProcess::Spawn(command);
  ASSERT_TRUE(worker.ok());
  AwaitEnd(*worker);
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  std::filesystem::remove(log);
  EXPECT_EQ(text.str(), "to stdout\nto stderr\n");
}

TEST(WorkerProcessTest, AMissingProgramIsNamedAtOnce) {
  WorkerCommand command = Fake("echo");
  command.program = "/nonexistent/retort-worker";
  const auto missing = WorkerProcess::Spawn(command);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::environment);
  EXPECT_THAT(missing.status().message(), HasSubstr("/nonexistent/retort-worker"));
}

TEST(WorkerProcessTest, ALogThatCannotBeOpenedIsNamed) {
  WorkerCommand command = Fake("echo");
  command.log_path = "/nonexistent/folder/worker.log";
  const auto spawned = WorkerProcess::Spawn(command);
  ASSERT_FALSE(spawned.ok());
  EXPECT_THAT(spawned.status().message(), HasSubstr("/nonexistent/folder/worker.log"));
}

// A pipe that nobody reads would hold the agent where not even SIGKILL reaches it.
TEST(WorkerProcessTest, ALogThatIsALinkOrAPipeIsRefusedAtOnce) {
  const auto folder = std::filesystem::temp_directory_path() / ("retort-log-folder-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  WorkerCommand command = Fake("exit-0");
  std::ofstream(folder / "mine") << "precious";
  std::filesystem::create_symlink(folder / "mine", folder / "link.log");
  ASSERT_EQ(::mkfifo((folder / "pipe.log").c_str(), 0600), 0);
  for (const char* name : {"link.log", "pipe.log"}) {
    command.log_path = folder / name;
    const pid_t child = ::fork();  // so that a test of what hangs ends
    if (child == 0) {
      ::alarm(20);
      const auto spawned = WorkerProcess::Spawn(command);
      ::_exit(!spawned.ok() && spawned.status().message().find(name) != std::string::npos ? 0 : 1);
    }
    int state = 0;
    for (int i = 0; i < 200 && ::waitpid(child, &state, WNOHANG) == 0; ++i) ::usleep(50'000);
    EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << name;
  }
  EXPECT_EQ(std::filesystem::file_size(folder / "mine"), 8U);
  std::filesystem::remove_all(folder);
}

// The agent is a child of the test here, and is killed with a worker that hangs.
TEST(WorkerProcessTest, NoWorkerOutlivesItsAgent) {
  int report[2];
  ASSERT_EQ(::pipe(report), 0);
  const pid_t agent = ::fork();
  ASSERT_GE(agent, 0);
  if (agent == 0) {
    WorkerProcess worker = SpawnFake("hang");
    const auto hello = worker.link().Receive(kPatience);
    const pid_t pid = hello.ok() && hello->has_value() ? worker.pid() : -1;
    static_cast<void>(::write(report[1], &pid, sizeof(pid)));
    for (;;) ::pause();
  }
  pid_t worker = -1;
  ASSERT_EQ(::read(report[0], &worker, sizeof(worker)), static_cast<ssize_t>(sizeof(worker)));
  ::close(report[0]);
  ::close(report[1]);
  ASSERT_GT(worker, 1);
  EXPECT_TRUE(Exists(worker));
  ASSERT_EQ(::kill(agent, SIGKILL), 0);
  ::waitpid(agent, nullptr, 0);
  EXPECT_TRUE(EndsSoon(worker));
}

TEST(WorkerEnvironmentTest, LauncherVariablesAreRemovedAndOverridesWin) {
  const std::vector<std::string> inherited = {
      "HOME=/root",      "OMPI_COMM_WORLD_SIZE=3", "PMIX_RANK=0", "ORTE_X=1", "SLURM_STEP_ID=0", "SLURM_PROCID=1",
      "SLURM_JOB_ID=77", "OMP_NUM_THREADS=64",     "OMPISH=kept", "EMPTY=",   "GOMP_SPINCOUNT=5"};
  const auto environment = MakeWorkerEnvironment(inherited, {{"OMP_NUM_THREADS", "2"}, {"MKL_NUM_THREADS", "2"}});
  EXPECT_THAT(environment, ::testing::ElementsAre("HOME=/root", "SLURM_JOB_ID=77", "OMPISH=kept", "EMPTY=",
                                                  "GOMP_SPINCOUNT=5", "OMP_NUM_THREADS=2", "MKL_NUM_THREADS=2"));
}

TEST(WorkerEnvironmentTest, OpenMpSpinsForAMomentWhereNobodyChose) {
  using ::testing::ElementsAre;
  EXPECT_THAT(MakeWorkerEnvironment({"A=1"}, {}), ElementsAre("A=1", "GOMP_SPINCOUNT=1000"));
  EXPECT_THAT(MakeWorkerEnvironment({"OMP_WAIT_POLICY=active"}, {}), ElementsAre("OMP_WAIT_POLICY=active"));
  EXPECT_THAT(MakeWorkerEnvironment({"GOMP_SPINCOUNT=5"}, {}), ElementsAre("GOMP_SPINCOUNT=5"));
  EXPECT_THAT(MakeWorkerEnvironment({}, {{"GOMP_SPINCOUNT", "7"}}), ElementsAre("GOMP_SPINCOUNT=7"));
}

TEST(WorkerEnvironmentTest, LibrariesOfTorchDirComeFirst) {
  using ::testing::ElementsAre;
  const std::string spins = "GOMP_SPINCOUNT=1000";
  EXPECT_THAT(MakeWorkerEnvironment({"TORCH_DIR=/t"}, {}),
              ElementsAre("TORCH_DIR=/t", "LD_LIBRARY_PATH=/t/lib", spins));
  EXPECT_THAT(MakeWorkerEnvironment({"LD_LIBRARY_PATH=/a:/b", "TORCH_DIR=/t"}, {}),
              ElementsAre("LD_LIBRARY_PATH=/t/lib:/a:/b", "TORCH_DIR=/t", spins));
  EXPECT_THAT(MakeWorkerEnvironment({"TORCH_DIR=", "LD_LIBRARY_PATH=/a"}, {}),
              ElementsAre("TORCH_DIR=", "LD_LIBRARY_PATH=/a", spins));
}

}  // namespace
}  // namespace retort::cluster
