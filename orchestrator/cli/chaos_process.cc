#include "orchestrator/cli/chaos_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>

#include "orchestrator/cli/process_tree.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::chrono::milliseconds kPause{5};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, between fork and exec: system calls only.
[[noreturn]] void Become(const RunOrder& command, char* const* words, char* const* environment,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::setpgid(0, 0);
  const int log = ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (log < 0 || nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0)
    ::_exit(127);
  if (command.largest_file > 0) {
    std::signal(SIGXFSZ, SIG_IGN);  // the write fails then, as on a full disk
    const rlimit limit{command.largest_file, command.largest_file};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(127);
  }
  ::execvpe(words[0], words, environment);
  ::_exit(127);
}

bool WaitUntil(double seconds, bool kill) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const std::vector<LiveProcess> left = Descendants();
    if (left.empty()) return true;
    if (kill)
      for (const LiveProcess& process : left) ::kill(process.pid, SIGKILL);
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

Result<ChaosProcess> ChaosProcess::Start(const RunOrder& command) {
  const std::vector<char*> words = Pointers(command.words), environment = Pointers(command.environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) Become(command, words.data(), environment.data(), parent);
  if (pid < 0)
    return EnvironmentError("no process can be started: " + std::generic_category().message(errno));
  return ChaosProcess(pid);
}

std::optional<int> ChaosProcess::Poll() {
  int status = 0;
  for (pid_t ended = 0; !code_ && (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (ended == pid_) code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

std::optional<int> ChaosProcess::Wait(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!Poll() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kPause);
  return code_;
}

bool KillDescendants(double seconds) { return WaitUntil(seconds, true); }
bool WaitForNobody(double seconds) { return WaitUntil(seconds, false); }

}  // namespace retort::orchestrator::cli
