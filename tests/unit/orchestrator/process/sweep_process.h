// `retort run` as a process, with workers that train nothing.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "orchestrator/results/results_view.h"

namespace retort::orchestrator {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

inline std::string Tool(const std::string& name) { return std::string(RETORT_BINARY_DIR) + "/tests/" + name; }

// A sweep_runner process, by itself or behind the command `launcher`.
class Runner {
 public:
  Runner(const std::string& results, const std::vector<std::string>& plan, int slots = 1,
         const std::string& worker = Tool("scripted_worker"), std::vector<std::string> launcher = {})
      : log_(results + ".log") {
    std::vector<std::string> arguments = std::move(launcher);
    for (const std::string& argument : {Tool("sweep_runner"), results, worker, std::to_string(slots)})
      arguments.push_back(argument);
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

inline bool IsAlive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string word, state;
  if (!(file >> word)) return false;
  file >> word >> state;
  return state != "Z";
}

inline std::vector<pid_t> ListChildren(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t child = 0; file >> child;)
    if (IsAlive(child)) children.push_back(child);
  return children;
}

inline std::map<std::string, std::string> Digests(const std::string& results) {
  std::map<std::string, std::string> digests;
  const Result<ResultsView> view = ReadResults(storage::PosixEnv(), results);
  EXPECT_TRUE(view.ok()) << view.status().message();
  if (view.ok())
    for (const TrialView& trial : view->trials)
      if (trial.row) digests[trial.spec.name] = trial.row->row_digest;
  return digests;
}

inline int CountAttempts(const std::string& results, std::size_t trial) {
  const Result<ResultsView> view = ReadResults(storage::PosixEnv(), results);
  return view.ok() && trial < view->trials.size() ? static_cast<int>(view->trials[trial].attempts) : -1;
}

// Its worker has spoken.
inline bool IsRunning(const std::string& results, std::size_t trial) {
  const Result<ResultsView> view = ReadResults(storage::PosixEnv(), results);
  return view.ok() && trial < view->trials.size() && view->trials[trial].state == TrialState::running;
}

// User and system time of the process, in seconds.
inline double CpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string field;
  double user = 0, system = 0;
  for (int i = 0; i < 13; ++i) file >> field;
  file >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace retort::orchestrator
