#include "cluster/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/testing/temporary_directory.h"

namespace retort::cluster {
namespace {

TEST(HostMemory, IsWhatTheKernelSays) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.path() + "/meminfo";
  std::ofstream(path) << "MemTotal:       16384000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n";
  EXPECT_EQ(AvailableMemory(path), 2048 * 1024);
  std::ofstream(path) << "MemTotal:       16384000 kB\n";
  EXPECT_EQ(AvailableMemory(path), 0);
  EXPECT_EQ(AvailableMemory(folder.path() + "/absent"), 0);
}

TEST(HostMemory, AProcessHasAPeak) {
  if (AvailableMemory() == 0) GTEST_SKIP() << "no /proc here";
  EXPECT_GT(PeakResident(getpid()), 1 << 20);
  EXPECT_EQ(PeakResident(-1), 0);
}

}  // namespace
}  // namespace retort::cluster
