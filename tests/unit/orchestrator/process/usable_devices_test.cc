#include "orchestrator/process/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cluster/host.h"
#include "orchestrator/process/open_files.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A host that shows three GPUs, and a folder with a worker program that a shell script stands in for.
class UsableDevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "dev");
    for (const char* name : {"nvidia0", "nvidia1", "nvidia2", "nvidiactl"})
      std::ofstream(folder_ / ("dev/" + std::string(name)));
    std::ofstream(worker_) << "#!/bin/sh\nexit 1\n";
    std::filesystem::permissions(worker_, std::filesystem::perms::owner_all);
  }
  [[nodiscard]] UsableDevices Find(DeviceProbe probe, const std::vector<std::string>& environment = {}) const {
    return FindUsableDevices(environment, worker_, probe, folder_ / "dev");
  }
  [[nodiscard]] std::vector<std::string> Slots(const UsableDevices& usable) const {
    return cluster::AssignDevices(cluster::DiscoverHost(usable.environment, folder_ / "dev"), 0, 1, 2);
  }
  void Build() const { std::ofstream(folder_ / "libretort_cuda.so"); }

  testing::TemporaryDirectory folder_;
  std::string worker_ = folder_ / "worker";
};

TEST_F(UsableDevicesTest, HostWithoutDevicesIsLeftAsItIs) {
  const UsableDevices usable = FindUsableDevices({"A=1"}, "/nowhere", DeviceProbe::run, folder_ / "nothing");
  EXPECT_THAT(usable.environment, ElementsAre("A=1"));
  EXPECT_EQ(usable.notice, "");
  EXPECT_EQ(Find(DeviceProbe::run, {"CUDA_VISIBLE_DEVICES="}).notice, "");  // the user wants none
}

TEST_F(UsableDevicesTest, BuildWithoutTheLibraryHasSlotsOnTheCpu) {
  for (const DeviceProbe probe : {DeviceProbe::look, DeviceProbe::run}) {
    const UsableDevices usable = Find(probe, {"CUDA_VISIBLE_DEVICES=0,2"});
    EXPECT_THAT(Slots(usable), ElementsAre("cpu", "cpu"));
    EXPECT_THAT(usable.notice, HasSubstr("2 CUDA devices cannot be used, this build has no "));
    EXPECT_EQ(usable.notice.find('\n'), std::string::npos);
  }
}

TEST_F(UsableDevicesTest, LookingTakesALibraryForUsable) {
  Build();
  EXPECT_THAT(Slots(Find(DeviceProbe::look)), ElementsAre("cuda:0", "cuda:1", "cuda:2"));
}

TEST_F(UsableDevicesTest, WorkerThatEndsWithoutAnAnswerHasSlotsOnTheCpu) {
  Build();
  const UsableDevices usable = Find(DeviceProbe::run);
  EXPECT_THAT(Slots(usable), ElementsAre("cpu", "cpu"));
  EXPECT_THAT(usable.notice, HasSubstr("ended when it looked for CUDA devices"));
}

// The fake worker says that it can use two.
TEST_F(UsableDevicesTest, DevicesThatTheDriverDoesNotShowAreLeftOut) {
  Build();
  std::filesystem::remove(worker_);
  std::filesystem::copy_file(std::string(RETORT_BINARY_DIR) + "/tests/scripted_worker", worker_);
  const UsableDevices usable = Find(DeviceProbe::run);
  EXPECT_THAT(Slots(usable), ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(usable.notice, HasSubstr("the host shows 3 CUDA devices, the driver 2"));
  EXPECT_THAT(Find(DeviceProbe::run, {"CUDA_VISIBLE_DEVICES=2,0,1"}).environment,
              ElementsAre("CUDA_VISIBLE_DEVICES=2,0"));
}

TEST(OpenFiles, ConnectionsLeaveTheRunAndItsWorkersWhatTheyNeed) {
  EXPECT_EQ(ComputeMaxConnections(std::nullopt, 4096, 64), 64);
  EXPECT_EQ(ComputeMaxConnections(1024, 8, 64), 64);
  for (std::uint64_t allowed = 0; allowed < 2000; ++allowed) {
    const int connections = ComputeMaxConnections(allowed, 800, 64);
    ASSERT_GE(connections, 2);
    ASSERT_LE(connections, 64);
    if (connections > 2) {
      ASSERT_LE(kFilesPerRun + 800 * kFilesPerWorker + static_cast<std::uint64_t>(connections), allowed);
    }
  }
  EXPECT_EQ(ComputeMaxConnections(16, 1, 64), 2);
}

TEST(OpenFiles, TheLimitIsRaisedToTheHardOne) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit low{50, 200};
    if (::setrlimit(RLIMIT_NOFILE, &low) != 0) ::_exit(1);
    if (GetHardOpenFileLimit() != 200U || RaiseOpenFileLimit() != 200U) ::_exit(2);
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
