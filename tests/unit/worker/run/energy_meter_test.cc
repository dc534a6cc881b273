#include "worker/devices/energy_meter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "storage/results/attempt_file.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/devices/devices.h"
#include "worker/run/gang_formation.h"

namespace retort::worker {
namespace {

constexpr const char* kFake = RETORT_FAKE_NVML;

TEST(EnergyMeter, CountsFromWhenItWasOpened) {
  const auto meter = EnergyMeter::Open("GPU-fake", kFake);
  ASSERT_NE(meter, nullptr);
  EXPECT_EQ(meter->Joules(), 1.25);
  EXPECT_EQ(meter->Joules(), 2.5);
}

TEST(EnergyMeter, WhereNobodyCountsThereIsNone) {
  EXPECT_EQ(EnergyMeter::Open("GPU-mute", kFake), nullptr);
  EXPECT_EQ(EnergyMeter::Open("GPU-other", kFake), nullptr);
  EXPECT_EQ(EnergyMeter::Open("", kFake), nullptr);
  EXPECT_EQ(EnergyMeter::Open("GPU-fake", "libretort-absent.so"), nullptr);
  EXPECT_EQ(EnergyMeter::Open("GPU-fake", "libm.so.6"), nullptr);  // a library without its calls
}

// A CPU under the name of a GPU that is counted.
Result<OpenDevice> Metered(const std::string&) {
  OpenDevice device;
  device.meter = EnergyMeter::Open("GPU-fake", kFake);
  return device;
}

TEST(EnergyMeter, AnAttemptsFileHoldsTheEnergyOfADeviceThatIsCounted) {
  TinyTrials tiny;
  TrialOrder order = tiny.Order(tiny.Teacher("ensemble"), "metered", 1);
  order.start.device = "cuda:0";
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv(), FormGang, Metered);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  const auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
  ASSERT_TRUE(file.ok());
  for (const auto& timings : {ended.timings, file->timings}) {
    const auto found =
        std::find_if(timings.begin(), timings.end(), [](const auto& t) { return t.first == "energy_joules"; });
    ASSERT_NE(found, timings.end());
    EXPECT_EQ(found->second, 1.25);
  }
}

TEST(EnergyMeter, AnAttemptOnACpuTellsOfNone) {
  TinyTrials tiny;
  const TrialOrder order = tiny.Order(tiny.Teacher("ensemble"), "cpu", 1);
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv(), FormGang, OpenHost);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  for (const auto& [name, value] : ended.timings) EXPECT_NE(name, "energy_joules");
}

}  // namespace
}  // namespace retort::worker
