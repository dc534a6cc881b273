// What a process is started with by posix_spawn.
#pragma once

#include <fcntl.h>
#include <spawn.h>

#include <csignal>
#include <string>
#include <vector>

namespace retort::cluster {

// Pointers to the texts, and a null behind them, as exec takes them. They are not written to.
[[nodiscard]] inline std::vector<char*> ListPointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The C structures of posix_spawn, released with the scope. The process has a group of its own. Functions that return
// an int return 0 or an errno value, and what they ask for is done in the order of the calls.
class SpawnSetup {
 public:
  SpawnSetup() {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSetup() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&files_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  // No signal is blocked, and those of `standard` do what they do by default.
  int ResetSignals(const sigset_t& standard) {
    sigset_t none;
    ::sigemptyset(&none);
    int error = ::posix_spawnattr_setsigdefault(&attributes_, &standard);
    if (error == 0) error = ::posix_spawnattr_setsigmask(&attributes_, &none);
    constexpr short kFlags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    return error != 0 ? error : ::posix_spawnattr_setflags(&attributes_, kFlags);
  }
  int Copy(int from, int to) { return ::posix_spawn_file_actions_adddup2(&files_, from, to); }
  // There is nothing to read from the standard input.
  int CloseInput() { return ::posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0); }
  int CloseFrom(int first) { return ::posix_spawn_file_actions_addclosefrom_np(&files_, first); }

  // Starts the program at `path`.
  int Start(const std::string& path, const std::vector<std::string>& words, const std::vector<std::string>& environment,
            pid_t& pid) const {
    return ::posix_spawn(&pid, path.c_str(), &files_, &attributes_, ListPointers(words).data(),
                         ListPointers(environment).data());
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace retort::cluster
