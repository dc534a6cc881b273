#include "worker/devices/device_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/results/attempt_file.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/devices/devices.h"
#include "worker/gang/local_collective.h"
#include "worker/run/attempt_cost.h"
#include "worker/run/gang_formation.h"

namespace retort::worker {
namespace {

constexpr const char* kFake = RETORT_FAKE_NVML;

TEST(DeviceMeter, CountsFromWhenItWasOpened) {
  const auto meter = DeviceMeter::Open("GPU-fake", kFake);
  ASSERT_NE(meter, nullptr);
  EXPECT_EQ(meter->Joules(), 1.25);
  EXPECT_EQ(meter->Joules(), 2.5);
}

TEST(DeviceMeter, IsBusyAsTheMeanOfItsLooks) {
  const auto meter = DeviceMeter::Open("GPU-busy", kFake);
  ASSERT_NE(meter, nullptr);
  EXPECT_EQ(meter->BusyFraction(), 0.4);  // a trial that is shorter than the time between two looks has one
  EXPECT_EQ(meter->BusyFraction(), 0.5);
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));  // two looks of its own
  EXPECT_NEAR(meter->BusyFraction().value(), 0.5, 0.05);
}

TEST(DeviceMeter, SaysWhatTheDriverSaysAndNothingElse) {
  EXPECT_EQ(DeviceMeter::Open("GPU-idle", kFake)->BusyFraction(), std::nullopt);
  EXPECT_EQ(DeviceMeter::Open("GPU-busy", kFake)->Joules(), std::nullopt);
}

TEST(DeviceMeter, WhereNobodyCountsThereIsNone) {
  EXPECT_EQ(DeviceMeter::Open("GPU-mute", kFake), nullptr);
  EXPECT_EQ(DeviceMeter::Open("GPU-none", kFake), nullptr);
  EXPECT_EQ(DeviceMeter::Open("", kFake), nullptr);
  EXPECT_EQ(DeviceMeter::Open("GPU-fake", "libretort-absent.so"), nullptr);
  EXPECT_EQ(DeviceMeter::Open("GPU-fake", "libm.so.6"), nullptr);  // a library without its calls
}

// What a gang on GPUs of these names measures.
DeviceUse Measure(const std::vector<std::string>& uuids) {
  auto gang = MakeLocalGang(static_cast<int>(uuids.size()), std::chrono::seconds(20));
  std::vector<DeviceUse> uses(uuids.size());
  std::vector<std::thread> members;
  for (std::size_t rank = 0; rank < uuids.size(); ++rank)
    members.emplace_back([&, rank] {
      const auto meter = DeviceMeter::Open(uuids[rank], kFake);
      EXPECT_TRUE(MeasureDevices("cuda:0", meter.get(), *gang[rank], uses[rank]).ok());
    });
  for (std::thread& member : members) member.join();
  for (const DeviceUse& use : uses) {
    EXPECT_EQ(use.joules, uses[0].joules);
    EXPECT_EQ(use.busy, uses[0].busy);
  }
  return uses[0];
}

TEST(DeviceUse, IsTheSumOfEnergyAndTheMeanOfBusyFractions) {
  const DeviceUse use = Measure({"GPU-fake", "GPU-other-fake"});
  EXPECT_EQ(use.joules, 2.5);
  EXPECT_NEAR(use.busy.value(), 0.5, 0.11);
}

TEST(DeviceUse, AGpuThatMembersShareCountsOnce) {
  const DeviceUse use = Measure({"GPU-fake", "GPU-fake"});
  EXPECT_LE(use.joules.value(), 5);  // the fake one counts the other member's looks too
  EXPECT_GE(use.joules.value(), 1.25);
  EXPECT_LE(use.busy.value(), 0.6);
}

TEST(DeviceUse, IsUnknownWhereOneGpuSaysNothing) {
  const DeviceUse silent = Measure({"GPU-fake", "GPU-mute"}), half = Measure({"GPU-fake", "GPU-idle"});
  EXPECT_EQ(silent.joules, std::nullopt);
  EXPECT_EQ(silent.busy, std::nullopt);
  EXPECT_TRUE(half.joules.has_value());
  EXPECT_EQ(half.busy, std::nullopt);
}

// A CPU under the name of a GPU that is counted.
Result<OpenDevice> Metered(const std::string&) {
  OpenDevice device;
  device.meter = DeviceMeter::Open("GPU-fake", kFake);
  return device;
}

std::optional<double> Find(const std::vector<std::pair<std::string, double>>& timings, const std::string& name) {
  const auto found = std::find_if(timings.begin(), timings.end(), [&](const auto& t) { return t.first == name; });
  return found == timings.end() ? std::nullopt : std::optional(found->second);
}

TEST(DeviceUse, StandsInTheFileOfAnAttemptOnADeviceThatIsCounted) {
  TinyTrials tiny;
  TrialOrder order = tiny.Order(tiny.Teacher("ensemble"), "metered", 1);
  order.start.device = "cuda:0";
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv(), FormGang, Metered);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  const auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
  ASSERT_TRUE(file.ok());
  for (const auto& timings : {ended.timings, file->timings}) {
    EXPECT_EQ(Find(timings, "energy_joules"), 1.25);
    EXPECT_NEAR(Find(timings, "device_busy").value(), 0.5, 0.11);
  }
}

TEST(DeviceUse, OfAnAttemptOnACpuIsNotThere) {
  TinyTrials tiny;
  const TrialOrder order = tiny.Order(tiny.Teacher("ensemble"), "cpu", 1);
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv(), FormGang, OpenHost);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(Find(ended.timings, "energy_joules"), std::nullopt);
  EXPECT_EQ(Find(ended.timings, "device_busy"), std::nullopt);
}

}  // namespace
}  // namespace retort::worker
