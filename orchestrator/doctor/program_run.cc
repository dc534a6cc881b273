#include "orchestrator/doctor/program_run.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <thread>

#include "cluster/launch_environment.h"

namespace retort::orchestrator::doctor {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostText = 16 << 10;
constexpr std::size_t kLineWidth = 160;
constexpr std::chrono::milliseconds kPause{5};
constexpr std::chrono::milliseconds kGrace{300};  // between SIGTERM and SIGKILL: mpirun removes its folders

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// 0 or an errno value. The program writes to `output`.
int Start(const std::string& file, const std::vector<std::string>& words,
          const std::vector<std::string>& environment, int output, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, 1);
  ::posix_spawn_file_actions_adddup2(&files, output, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  const int error = ::posix_spawn(&pid, file.c_str(), &files, &attributes, Pointers(words).data(),
                                  Pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

// Until the end of the output or of the time; what goes beyond kMostText is dropped.
std::string ReadUntil(int input, Clock::time_point until) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd ready{input, POLLIN, 0};
    if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) return text;
    const ssize_t count = ::read(input, buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), std::min(static_cast<std::size_t>(count), kMostText - text.size()));
  }
}

bool Reaped(pid_t pid, Clock::time_point until, int& status) {
  for (;;) {
    const pid_t reaped = ::waitpid(pid, &status, WNOHANG);
    if (reaped == pid || (reaped < 0 && errno != EINTR)) return true;
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

std::string FindProgram(const std::string& program, const std::vector<std::string>& environment) {
  const auto runs = [](const std::string& path) {
    std::error_code error;
    return ::access(path.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(path, error);
  };
  if (program.find('/') != std::string::npos) return runs(program) ? program : "";
  std::istringstream folders(cluster::FindVariable(environment, "PATH").value_or(""));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string path = (folder.empty() ? "." : folder) + "/" + program; runs(path)) return path;
  return "";
}

ProgramRun RunProgram(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                      std::chrono::milliseconds limit) {
  ProgramRun run;
  const std::string file = FindProgram(words.front(), environment);
  if (file.empty()) return run;
  run.found = true;
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    run.text = std::generic_category().message(errno);
    return run;
  }
  const auto until = Clock::now() + limit;
  pid_t pid = -1;
  const int error = Start(file, words, environment, pipe[1], pid);
  ::close(pipe[1]);
  int status = 0;
  if (error != 0) {
    run.text = std::generic_category().message(error);
  } else {
    run.text = ReadUntil(pipe[0], until);
    run.timed_out = !Reaped(pid, until, status);
    if (run.timed_out) {
      ::kill(-pid, SIGTERM);
      const bool left = !Reaped(pid, Clock::now() + kGrace, status);
      ::kill(-pid, SIGKILL);
      if (left) (void)Reaped(pid, Clock::now() + kGrace, status);
    } else {
      run.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
  ::close(pipe[0]);
  return run;
}

std::string FirstLine(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(" \t\r-=*");
    if (begin != std::string::npos) return line.substr(begin, kLineWidth);
  }
  return "";
}

}  // namespace retort::orchestrator::doctor
