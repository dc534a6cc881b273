
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cluster/host.h"
#include "tests/testing/temporary_directory.h"

namespace retort::cluster {
namespace {

using ::testing::ElementsAre;

// A folder with the device files that a host with `count` GPUs has.
class DeviceFolder {
 public:
  explicit DeviceFolder(int count)
      : path_(std::filesystem::temp_directory_path() / ("retort-dev-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
    for (const char* const name : {"nvidiactl", "nvidia-uvm", "nvidia-modeset", "null"}) std::ofstream(path_ / name);
    for (int i = 0; i < count; ++i) std::ofstream(path_ / ("nvidia" + std::to_string(i)));
  }
  ~DeviceFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] int Visible(const std::vector<std::string>& environment) const {
    return DiscoverHost(environment, path_).cuda_devices;
  }

 private:
  std::filesystem::path path_;
};

TEST(TopologyTest, DeviceFilesAreCountedAndOthersAreNot) {
  EXPECT_EQ(DeviceFolder(0).Visible({}), 0);
  EXPECT_EQ(DeviceFolder(11).Visible({}), 11);
  EXPECT_EQ(DiscoverHost({}, "/nonexistent").cuda_devices, 0);
}

TEST(TopologyTest, TheVisibleMaskIsReadAsCudaReadsIt) {
  const DeviceFolder devices(4);
  const auto visible = [&](const std::string& mask) { return devices.Visible({"CUDA_VISIBLE_DEVICES=" + mask}); };
  EXPECT_EQ(visible("0,2"), 2);
  EXPECT_EQ(visible("3"), 1);
  EXPECT_EQ(visible(""), 0);
  EXPECT_EQ(visible("-1"), 0);
  EXPECT_EQ(visible("0,-1,1"), 1);
  EXPECT_EQ(visible("0,9,1"), 1);
  EXPECT_EQ(visible("GPU-8a1b,GPU-77"), 2);
}

TEST(TopologyTest, DevicesAreSharedOutWithoutOverlapOrLoss) {
  HostTopology host{.host = "h", .cpus = 8, .cuda_devices = 8};
  EXPECT_THAT(AssignDevices(host, 0, 8, 1), ElementsAre("cuda:0"));
  EXPECT_THAT(AssignDevices(host, 7, 8, 1), ElementsAre("cuda:7"));
  for (int ranks = 1; ranks <= 11; ++ranks) {
    std::vector<std::string> all;
    for (int rank = 0; rank < ranks; ++rank) {
      for (auto& device : AssignDevices(host, rank, ranks, 1)) all.push_back(device);
    }
    EXPECT_THAT(all, ElementsAre("cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"));
  }
}

TEST(TopologyTest, AGpuCanStandForSeveralSlots) {
  const HostTopology host{.host = "h", .cpus = 8, .cuda_devices = 2};
  EXPECT_THAT(AssignDevices(host, 0, 1, 1, 2), ElementsAre("cuda:0", "cuda:0", "cuda:1", "cuda:1"));
  EXPECT_THAT(AssignDevices(host, 1, 2, 1, 3), ElementsAre("cuda:1", "cuda:1", "cuda:1"));
}

TEST(TopologyTest, AHostWithoutGpusHasCpuSlots) {
  const HostTopology host{.host = "h", .cpus = 2, .cuda_devices = 0};
  EXPECT_THAT(AssignDevices(host, 1, 3, 2), ElementsAre("cpu", "cpu"));
  EXPECT_THAT(AssignDevices(host, 1, 3, 2, 4), ElementsAre("cpu", "cpu"));
}

TEST(TopologyTest, ThisHostHasANameAndACpu) {
  const HostTopology host = DiscoverHost({});
  EXPECT_FALSE(host.host.empty());
  EXPECT_GE(host.cpus, 1);
}

TEST(HostIdentityTest, NetworksAndBootsAreToldApart) {
  const std::filesystem::path proc =
      std::filesystem::temp_directory_path() / ("retort-proc-" + std::to_string(::getpid()));
  std::filesystem::create_directories(proc / "sys/kernel/random");
  std::filesystem::create_directories(proc / "self/ns");
  std::ofstream(proc / "sys/kernel/random/boot_id") << "5a3c-11\n";
  std::filesystem::create_symlink("net:[7]", proc / "self/ns/net");
  const std::string first = ReadHostIdentity(proc);
  EXPECT_THAT(first, ::testing::EndsWith("/5a3c-11/net:[7]"));
  EXPECT_EQ(first, ReadHostIdentity(proc));
  std::filesystem::remove(proc / "self/ns/net");
  std::filesystem::create_symlink("net:[8]", proc / "self/ns/net");
  EXPECT_NE(ReadHostIdentity(proc), first);
  std::filesystem::remove_all(proc);
  EXPECT_THAT(ReadHostIdentity(proc), ::testing::EndsWith("//")) << "what cannot be read is empty";
  EXPECT_EQ(ReadHostIdentity(), ReadHostIdentity());
}

TEST(HostMemory, IsWhatTheKernelSays) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.path() + "/meminfo";
  std::ofstream(path) << "MemTotal:       16384000 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n";
  EXPECT_EQ(ReadAvailableMemory(path), 2048 * 1024);
  std::ofstream(path) << "MemTotal:       16384000 kB\n";
  EXPECT_EQ(ReadAvailableMemory(path), 0);
  EXPECT_EQ(ReadAvailableMemory(folder.path() + "/absent"), 0);
}

TEST(HostMemory, AProcessHasAPeak) {
  if (ReadAvailableMemory() == 0) GTEST_SKIP() << "no /proc here";
  EXPECT_GT(ReadPeakResident(getpid()), 1 << 20);
  EXPECT_EQ(ReadPeakResident(-1), 0);
}

}  // namespace
}  // namespace retort::cluster
