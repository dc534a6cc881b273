#include "orchestrator/cli/chaos/chaos_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>

#include "cluster/spawn_setup.h"

namespace retort::orchestrator::cli {
namespace {

struct Entry {
  LiveProcess process;
  pid_t parent = 0;
};

// "pid (name) state parent ...": the name may hold blanks and parentheses. False when it is gone, or a
// zombie.
bool ReadEntry(const std::string& pid, Entry& entry) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return false;
  entry.process.pid = static_cast<pid_t>(std::atoi(pid.c_str()));
  entry.process.name = text.substr(open + 1, close - open - 1);
  std::istringstream rest(text.substr(close + 1));
  char state = 'Z';
  rest >> state >> entry.parent;
  entry.process.state = state;
  return state != 'Z' && state != 'X';
}

}  // namespace

std::vector<LiveProcess> ListDescendants() {
  std::multimap<pid_t, LiveProcess> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  while (const dirent* item = folder != nullptr ? ::readdir(folder.get()) : nullptr) {
    const std::string name = item->d_name;
    Entry entry;
    if (name.find_first_not_of("0123456789") == std::string::npos && ReadEntry(name, entry))
      children.emplace(entry.parent, entry.process);
  }
  std::vector<LiveProcess> found;
  std::vector<pid_t> open = {::getpid()};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      open.push_back(child->second.pid);
    }
  }
  std::sort(found.begin(), found.end(), [](const LiveProcess& a, const LiveProcess& b) { return a.pid < b.pid; });
  return found;
}

void AdoptOrphans() { static_cast<void>(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)); }

namespace {

constexpr std::chrono::milliseconds kPause{5};

// In the child, between fork and exec: system calls only.
[[noreturn]] void Become(const RunOrder& command, char* const* words, char* const* environment, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::setpgid(0, 0);
  const int log =
      ::open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (log < 0 || nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) ::_exit(127);
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
    const std::vector<LiveProcess> left = ListDescendants();
    if (left.empty()) return true;
    if (kill)
      for (const LiveProcess& process : left) ::kill(process.pid, SIGKILL);
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

Result<ChaosProcess> ChaosProcess::Start(const RunOrder& command) {
  const std::vector<char*> words = cluster::ListPointers(command.words),
                           environment = cluster::ListPointers(command.environment);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) Become(command, words.data(), environment.data(), parent);
  if (pid < 0) return EnvironmentError("no process can be started: " + std::generic_category().message(errno));
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
