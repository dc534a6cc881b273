#include "orchestrator/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace retort::orchestrator {
namespace {

TEST(OpenFiles, ConnectionsLeaveTheRunAndItsWorkersWhatTheyNeed) {
  EXPECT_EQ(ConnectionsWithin(std::nullopt, 4096, 64), 64);
  EXPECT_EQ(ConnectionsWithin(1024, 8, 64), 64);
  for (std::uint64_t allowed = 0; allowed < 2000; ++allowed) {
    const int connections = ConnectionsWithin(allowed, 800, 64);
    ASSERT_GE(connections, 2);
    ASSERT_LE(connections, 64);
    if (connections > 2) {
      ASSERT_LE(kFilesOfRun + 800 * kFilesOfWorker + static_cast<std::uint64_t>(connections), allowed);
    }
  }
  EXPECT_EQ(ConnectionsWithin(16, 1, 64), 2);
}

TEST(OpenFiles, TheLimitIsRaisedToTheHardOne) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit low{50, 200};
    if (::setrlimit(RLIMIT_NOFILE, &low) != 0) ::_exit(1);
    if (HardOpenFiles() != 200U || RaiseOpenFiles() != 200U) ::_exit(2);
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    ::_exit(now.rlim_cur == 200 && now.rlim_max == 200 ? 0 : 3);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(WIFEXITED(state) ? WEXITSTATUS(state) : -1, 0);
}

}  // namespace
}  // namespace retort::orchestrator
