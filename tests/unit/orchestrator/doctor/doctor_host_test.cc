// What doctor says of the host: GPUs, processors, memory, limits, clock, ports.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "orchestrator/doctor/device_check.h"
#include "orchestrator/doctor/environment_check.h"
#include "orchestrator/doctor/machine_check.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator::doctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

void WriteText(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

DeviceFacts TwoGpus() {
  DeviceFacts facts;
  facts.files = facts.visible = facts.usable = 2;
  facts.control = facts.library = true;
  facts.driver = "550.54.15";
  return facts;
}

TEST(DoctorDevices, UsableGpusAreWell) {
  EXPECT_EQ(CheckVisibleDevices(TwoGpus()).level, Level::ok);
  EXPECT_EQ(CheckVisibleDevices({}).level, Level::ok);  // none at all
}

TEST(DoctorDevices, EachReasonForTheCpuIsAWarning) {
  DeviceFacts facts = TwoGpus();
  facts.closed = {"/dev/nvidia0"};
  EXPECT_THAT(CheckVisibleDevices(facts).what, HasSubstr("may not open /dev/nvidia0"));
  EXPECT_EQ(CheckVisibleDevices(facts).level, Level::warning);
  facts = {};
  facts.driver = "550.54.15";
  EXPECT_EQ(CheckVisibleDevices(facts).level, Level::warning);
  EXPECT_THAT(CheckVisibleDevices(facts).what, HasSubstr("no GPU is shown"));
  facts = TwoGpus();
  facts.library = false;
  EXPECT_EQ(CheckVisibleDevices(facts).level, Level::warning);
  EXPECT_THAT(CheckVisibleDevices(facts).remedy, HasSubstr("setup.sh --cuda"));
  facts = TwoGpus();
  facts.driver = "";
  EXPECT_EQ(CheckVisibleDevices(facts).level, Level::warning);
  EXPECT_THAT(CheckVisibleDevices(facts).what, HasSubstr("driver is not loaded"));
  facts = TwoGpus();
  facts.usable = 0;
  facts.trouble = "libnccl.so.2 is missing";
  EXPECT_EQ(CheckVisibleDevices(facts).level, Level::warning);
  EXPECT_THAT(CheckVisibleDevices(facts).what, HasSubstr("libnccl.so.2"));
  facts.usable = 1;
  EXPECT_EQ(CheckVisibleDevices(facts).level, Level::warning);
  facts = TwoGpus();
  facts.visible = 0;
  EXPECT_EQ(CheckVisibleDevices(facts).level, Level::note);
}

Level MaskLevel(const std::string& mask, int files) {
  DeviceFacts facts;
  facts.files = files;
  facts.mask = mask;
  return CheckDeviceMask(facts)->level;
}

TEST(DoctorDevices, OddMasksAreWarnings) {
  EXPECT_FALSE(CheckDeviceMask(TwoGpus()));
  EXPECT_EQ(MaskLevel("0,1", 2), Level::ok);
  EXPECT_EQ(MaskLevel("GPU-1234,MIG-5", 2), Level::ok);
  EXPECT_EQ(MaskLevel("", 2), Level::note);
  EXPECT_EQ(MaskLevel("-1", 2), Level::note);
  for (const char* odd : {"7", "0,7", "0, 1", "0,0", "all", "0;1", "99999999999"})
    EXPECT_EQ(MaskLevel(odd, 2), Level::warning) << odd;
  EXPECT_EQ(MaskLevel("7", 0), Level::warning);
  DeviceFacts facts;
  facts.mask = "7";
  EXPECT_THAT(CheckDeviceMask(facts)->what, HasSubstr("there is no GPU 7 here (none at all)"));
}

TEST(DoctorDevices, SplitGpuIsAWarningUntilAnInstanceIsNamed) {
  EXPECT_FALSE(CheckMig(TwoGpus()));
  DeviceFacts facts = TwoGpus();
  facts.split = {1};
  EXPECT_EQ(CheckMig(facts)->level, Level::warning);
  EXPECT_THAT(CheckMig(facts)->remedy, HasSubstr("MIG-"));
  facts.mask = "MIG-0000";
  EXPECT_EQ(CheckMig(facts)->level, Level::note);
}

TEST(DoctorDevices, LookingReadsDriverFilesAndMask) {
  const testing::TemporaryDirectory folder;
  for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"})
    WriteText(folder / ("dev/" + std::string(name)), "");
  WriteText(folder / "driver/version",
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC "
            "version: 12.2.0\n");
  WriteText(folder / "driver/capabilities/gpu1/mig/gi1/access", "");
  const DeviceFacts facts =
      ReadDeviceFacts({"CUDA_VISIBLE_DEVICES=1"}, folder / "retort-worker", folder / "dev", folder / "driver");
  EXPECT_EQ(facts.files, 2);
  EXPECT_TRUE(facts.control);
  EXPECT_EQ(facts.visible, 1);
  EXPECT_EQ(facts.driver, "550.54.15");
  EXPECT_THAT(facts.split, ElementsAre(1));
  EXPECT_FALSE(facts.library);
  EXPECT_TRUE(facts.closed.empty());
}

ProcessorFacts EightCores() {
  ProcessorFacts facts;
  facts.online = facts.allowed = 8;
  facts.memory_available = 16 * kGiB;
  facts.shared_memory = kGiB;
  return facts;
}

TEST(DoctorProcessors, SlotsThatFitAreWell) {
  ProcessorFacts facts = EightCores();
  EXPECT_EQ(CheckProcessors(facts).level, Level::ok);
  EXPECT_THAT(CheckProcessors(facts).what, HasSubstr("room for 4"));
  facts.slots = 4;
  EXPECT_EQ(CheckProcessors(facts).level, Level::ok);
}

TEST(DoctorProcessors, SlotsBeyondAffinityOrQuotaAreAWarning) {
  ProcessorFacts facts = EightCores();
  facts.slots = 5;
  EXPECT_EQ(CheckProcessors(facts).level, Level::warning);
  EXPECT_THAT(CheckProcessors(facts).remedy, HasSubstr("--slots 4"));
  facts.slots = 2;
  facts.group.processors = 2.5;
  EXPECT_EQ(CheckProcessors(facts).level, Level::warning);
  EXPECT_THAT(CheckProcessors(facts).what, HasSubstr("2.5"));
  EXPECT_THAT(CheckProcessors(facts).remedy, HasSubstr("--slots 1"));
  facts.devices = 1;  // slots are GPUs then
  EXPECT_EQ(CheckProcessors(facts).level, Level::ok);
  facts = EightCores();
  facts.allowed = 1;
  EXPECT_EQ(CheckProcessors(facts).level, Level::note);
}

TEST(DoctorProcessors, RankBoundByMpirunIsAWarning) {
  ProcessorFacts facts = EightCores();
  facts.rank = true;
  EXPECT_EQ(CheckProcessors(facts).level, Level::ok);
  facts.allowed = 4;
  EXPECT_EQ(CheckProcessors(facts).level, Level::warning);
  EXPECT_THAT(CheckProcessors(facts).remedy, HasSubstr("--bind-to none"));
}

TEST(DoctorProcessors, OpenMpSettingsThatStarveWorkersAreWarnings) {
  ProcessorFacts facts = EightCores();
  EXPECT_FALSE(CheckThreads(facts));
  facts.bound_by = "OMP_PROC_BIND=true";
  EXPECT_FALSE(CheckThreads(facts));  // one worker may be bound
  facts.slots = 2;
  EXPECT_EQ(CheckThreads(facts)->level, Level::warning);
  EXPECT_EQ(CheckThreads(facts)->remedy, "unset OMP_PROC_BIND");
  facts = EightCores();
  facts.thread_limit = "1";
  EXPECT_EQ(CheckThreads(facts)->level, Level::warning);
  facts.thread_limit = "8";
  EXPECT_FALSE(CheckThreads(facts));
  facts.threads = "8";
  EXPECT_EQ(CheckThreads(facts)->level, Level::note);
}

TEST(DoctorMemory, LeastOfHostAndControlGroupCounts) {
  ProcessorFacts facts = EightCores();
  EXPECT_EQ(CheckMemory(facts).level, Level::ok);
  facts.slots = 17;
  EXPECT_EQ(CheckMemory(facts).level, Level::warning);
  facts.slots = 1;
  facts.group.memory = 2 * kGiB;
  facts.group.memory_used = kGiB + kGiB / 2;
  EXPECT_EQ(CheckMemory(facts).level, Level::warning);
  EXPECT_THAT(CheckMemory(facts).what, HasSubstr("control group"));
  facts.group.memory_used = 2 * kGiB - 1;
  EXPECT_EQ(CheckMemory(facts).level, Level::problem);
  facts.group.memory_used = 3 * kGiB;  // counted a moment later
  EXPECT_EQ(CheckMemory(facts).level, Level::problem);
  EXPECT_EQ(CheckMemory({}).level, Level::note);
}

TEST(DoctorMemory, SharedMemoryOfAContainerIsTooLittleForSeveralGpus) {
  ProcessorFacts facts = EightCores();
  EXPECT_EQ(CheckSharedMemory(facts).level, Level::ok);
  facts.shared_memory = 64 << 20;
  EXPECT_EQ(CheckSharedMemory(facts).level, Level::ok);
  facts.devices = 2;
  EXPECT_EQ(CheckSharedMemory(facts).level, Level::warning);
  EXPECT_THAT(CheckSharedMemory(facts).remedy, HasSubstr("--shm-size"));
  facts.devices = 0;
  facts.shared_memory = 1 << 20;
  EXPECT_EQ(CheckSharedMemory(facts).level, Level::warning);
  facts.shared_memory.reset();
  EXPECT_EQ(CheckSharedMemory(facts).level, Level::warning);
}

TEST(DoctorControlGroup, LeastOfAllGroupsAboveCounts) {
  const testing::TemporaryDirectory folder;
  WriteText(folder / "self", "0::/job/step\n");
  WriteText(folder / "groups/job/cpu.max", "150000 100000\n");
  WriteText(folder / "groups/job/step/cpu.max", "max 100000\n");
  WriteText(folder / "groups/job/memory.max", "1073741824\n");
  WriteText(folder / "groups/job/memory.current", "500000000\n");
  WriteText(folder / "groups/job/memory.stat", "anon 1\ninactive_file 100000000\n");
  WriteText(folder / "groups/job/step/memory.max", "max\n");
  const ControlGroup group = ReadControlGroup(folder / "self", folder / "groups");
  ASSERT_TRUE(group.processors && group.memory);
  EXPECT_DOUBLE_EQ(*group.processors, 1.5);
  EXPECT_EQ(*group.memory, kGiB);
  EXPECT_EQ(group.memory_used, 400000000);
}

TEST(DoctorControlGroup, FirstVersionHasAFolderForEachController) {
  const testing::TemporaryDirectory folder;
  WriteText(folder / "self", "5:cpu,cpuacct:/slurm/job\n4:memory:/slurm/job\n1:name=systemd:/x\n");
  WriteText(folder / "groups/cpu,cpuacct/slurm/job/cpu.cfs_quota_us", "200000\n");
  WriteText(folder / "groups/cpu,cpuacct/slurm/job/cpu.cfs_period_us", "100000\n");
  WriteText(folder / "groups/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  WriteText(folder / "groups/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  WriteText(folder / "groups/memory/slurm/job/memory.limit_in_bytes", "2147483648\n");
  WriteText(folder / "groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const ControlGroup group = ReadControlGroup(folder / "self", folder / "groups");
  ASSERT_TRUE(group.processors && group.memory);
  EXPECT_DOUBLE_EQ(*group.processors, 2);
  EXPECT_EQ(*group.memory, 2 * kGiB);
  const ControlGroup none = ReadControlGroup(folder / "nowhere", folder / "groups");
  EXPECT_FALSE(none.processors || none.memory);
}

TEST(DoctorLimits, FewOpenFilesAreAProblemBeforeARunFails) {
  LimitFacts facts;
  EXPECT_EQ(CheckLimits(facts).level, Level::ok);
  facts.open_files = 1024;
  EXPECT_EQ(CheckLimits(facts).level, Level::ok);
  facts.open_files = 131;
  EXPECT_EQ(CheckLimits(facts).level, Level::warning);
  facts.open_files = 9;
  EXPECT_EQ(CheckLimits(facts).level, Level::problem);
  EXPECT_THAT(CheckLimits(facts).remedy, HasSubstr("ulimit -n 1024"));
  facts.open_files = 1024;
  facts.slots = 400;
  EXPECT_EQ(CheckLimits(facts).level, Level::warning);
  EXPECT_THAT(CheckLimits(facts).remedy, HasSubstr("nofile 2048"));
}

TEST(DoctorLimits, LimitsThatEndProcessesAreWarnings) {
  for (auto limit : {&LimitFacts::address_space, &LimitFacts::file_size, &LimitFacts::processor_seconds}) {
    LimitFacts facts;
    facts.*limit = 4096;
    EXPECT_EQ(CheckLimits(facts).level, Level::warning);
    EXPECT_THAT(CheckLimits(facts).remedy, HasSubstr("unlimited"));
  }
  LimitFacts facts;
  facts.processes = 10;
  EXPECT_EQ(CheckLimits(facts).level, Level::warning);
  facts.root = true;
  EXPECT_EQ(CheckLimits(facts).level, Level::ok);
}

TEST(DoctorClock, ClockThatNobodyKeepsIsANote) {
  ClockFacts facts;
  facts.unix_seconds = 1'800'000'000;
  EXPECT_EQ(CheckClock(facts).level, Level::ok);
  facts.synchronised = true;
  EXPECT_EQ(CheckClock(facts).level, Level::ok);
  facts.synchronised = false;
  EXPECT_EQ(CheckClock(facts).level, Level::note);
  facts.unix_seconds = 86'400;
  EXPECT_EQ(CheckClock(facts).level, Level::warning);
  facts.monotonic_step = -1;
  EXPECT_EQ(CheckClock(facts).level, Level::problem);
}

TEST(DoctorClock, AllocationThatIsOverIsAProblem) {
  ClockFacts facts;
  EXPECT_FALSE(CheckAllocation(facts));
  facts.seconds_left = 3600;
  EXPECT_EQ(CheckAllocation(facts)->level, Level::ok);
  facts.seconds_left = 39;
  EXPECT_EQ(CheckAllocation(facts)->level, Level::problem);
  facts.seconds_left = -5;
  EXPECT_EQ(CheckAllocation(facts)->level, Level::problem);
  facts.seconds_left.reset();
  facts.end_trouble = "RETORT_END_TIME=soon is no time";
  EXPECT_EQ(CheckAllocation(facts)->level, Level::problem);
  EXPECT_NE(ReadClockFacts({"RETORT_END_TIME=soon"}).end_trouble, "");
}

TEST(DoctorPorts, TakenPortIsANoteAndNoneAProblem) {
  EXPECT_EQ(CheckPorts({9477, 9477, 1}).level, Level::ok);
  EXPECT_EQ(CheckPorts({9477, 9478, 2}).level, Level::note);
  EXPECT_EQ(CheckPorts({9477, 0, 64}).level, Level::problem);
}

TEST(DoctorPorts, ListenerTakesAPort) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  std::uint16_t taken = 0;
  for (int tries = 0; tries < 20 && taken == 0; ++tries) {  // another test may be quicker
    const std::uint16_t free = ReadPortFacts().free;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(free);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (free != 0 && ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) taken = free;
  }
  ASSERT_NE(taken, 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  EXPECT_NE(ReadPortFacts().free, taken);
  ::close(listener);
}

}  // namespace
}  // namespace retort::orchestrator::doctor
