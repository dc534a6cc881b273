#include "tests/testing/bounded_memory.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace retort::testing {
namespace {

constexpr bool kSanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    true;
#else
    false;
#endif
#else
    false;
#endif

std::size_t AddressSpace() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// An exception ends the child here, as it would end a program.
[[noreturn]] void Answer(int pipe, std::size_t most_bytes, const std::function<Status()>& run) noexcept {
  const rlimit space{AddressSpace() + most_bytes, RLIM_INFINITY};
  if (!kSanitized && setrlimit(RLIMIT_AS, &space) != 0) _exit(3);
  std::string message = run().message();
  message.resize(std::min<std::size_t>(message.size(), 4096));  // a pipe holds it
  _exit(write(pipe, message.data(), message.size()) == static_cast<ssize_t>(message.size()) ? 0 : 4);
}

}  // namespace

std::string MessageWithin(std::size_t most_bytes, const std::function<Status()>& run) {
  int ends[2] = {-1, -1};
  RETORT_CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  RETORT_CHECK(child >= 0);
  if (child == 0) Answer(ends[1], most_bytes, run);
  close(ends[1]);
  std::string message(4096, '\0');
  const ssize_t got = read(ends[0], message.data(), message.size());
  close(ends[0]);
  message.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  int state = 0;
  RETORT_CHECK(waitpid(child, &state, 0) == child);
  if (WIFSIGNALED(state)) return "ended by signal " + std::to_string(WTERMSIG(state));
  return WEXITSTATUS(state) == 0 ? message : "ended by exit code " + std::to_string(WEXITSTATUS(state));
}

}  // namespace retort::testing
