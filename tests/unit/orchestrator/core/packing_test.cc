// The controller alone, against a device whose speed for each number of trials is made up.
#include "orchestrator/core/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <vector>

namespace retort::orchestrator {
namespace {

const Device kCard{"node1", "cuda:0"};
constexpr std::int64_t kSteps = 200;

// Trials of one shape on one device. `speed(n)`: steps per second in sum while n share it.
class SharedDevice {
 public:
  SharedDevice(int trials, std::function<double(int)> speed) : waiting_(trials), speed_(std::move(speed)) {}

  // Until nothing is left, or `seconds` have passed.
  void Run(double seconds = 1e6) {
    for (const double end = time_ + seconds; time_ < end && (waiting_ > 0 || !running_.empty());) Turn();
  }
  double out_of_memory_beyond = 1e9;  // trials at once
  double noise = 0;                   // relative, of each report
  int slots = 1;
  std::int64_t available = 0, peak = 0;  // bytes

  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] int width() const { return static_cast<int>(running_.size()); }
  [[nodiscard]] int widest() const { return widest_; }
  [[nodiscard]] int finished() const { return finished_; }
  [[nodiscard]] int failed() const { return failed_; }
  Packing packing;
  std::vector<PackingMeasured> findings;

 private:
  struct Trial {
    std::uint64_t id;
    double done = 0;
    double reported_at = 0;
  };
  static TrialId GetId(const Trial& trial) { return TrialId(trial.id); }

  void Turn() {
    while (waiting_ > 0 && (width() < slots || packing.MayJoin(kCard, "small", 0, waiting_))) Start();
    widest_ = std::max(widest_, width());
    packing.SawMemory("node1", available, peak);
    time_ += 0.1;
    const double each = speed_(width()) / width();
    std::uniform_real_distribution<double> jitter(1 - noise, 1 + noise);
    for (Trial& trial : running_) trial.done += 0.1 * each * jitter(random_);
    for (const Trial& trial : std::vector<Trial>(running_))
      packing.Progressed(GetId(trial), static_cast<std::int64_t>(trial.done * 1000), kSteps * 1000, time_);
    if (width() > out_of_memory_beyond) End(width() - 1, true, true);
    for (int i = width() - 1; i >= 0; --i)
      if (running_[static_cast<std::size_t>(i)].done >= kSteps) End(i, false, false);
    packing.Tick(time_);
    for (const TrialId unwelcome : packing.TakeEvictions())
      for (int i = width() - 1; i >= 0; --i)
        if (GetId(running_[static_cast<std::size_t>(i)]) == unwelcome) End(i, true, false);
    for (PackingMeasured& finding : packing.TakeFindings()) findings.push_back(std::move(finding));
  }
  void Start() {
    --waiting_;
    running_.push_back({++ids_, saved_, time_});
    saved_ = 0;
    packing.Seated(TrialId(ids_), kCard, "small", true, slots, time_);
  }
  void End(int index, bool again, bool out_of_memory) {
    const Trial trial = running_[static_cast<std::size_t>(index)];
    running_.erase(running_.begin() + index);
    packing.Left(GetId(trial), out_of_memory, time_);
    if (out_of_memory) ++failed_;
    waiting_ += again ? 1 : 0;
    if (again && !out_of_memory) saved_ = trial.done;
    finished_ += again ? 0 : 1;
  }

  int waiting_;
  std::function<double(int)> speed_;
  std::vector<Trial> running_;
  std::mt19937_64 random_{7};
  double time_ = 0, saved_ = 0;
  int widest_ = 0, finished_ = 0, failed_ = 0;
  std::uint64_t ids_ = 0;
};

double Alone(int trials) { return trials * kSteps / 10.0; }  // seconds at 10 steps per second

TEST(Packing, TrialsThatGainAreAddedUpToTheBest) {
  SharedDevice device(100, [](int n) { return 10.0 * std::min(n, 4); });
  device.Run();
  EXPECT_EQ(device.finished(), 100);
  EXPECT_EQ(device.widest(), 5) << "four gain, the fifth was tried";
  ASSERT_EQ(device.findings.size(), 4U);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(device.findings[static_cast<std::size_t>(i)].kept);
  const PackingMeasured& last = device.findings[3];
  EXPECT_FALSE(last.kept);
  EXPECT_EQ(last.width, 5);
  EXPECT_EQ(last.than_width, 4);
  EXPECT_NEAR(last.rate, 40'000, 400);
  EXPECT_NEAR(last.than_rate, 40'000, 400);
  EXPECT_LT(device.time(), 0.3 * Alone(100));
}

TEST(Packing, WithoutGainItGoesBackToOneAtATime) {
  SharedDevice device(100, [](int) { return 10.0; });
  device.Run(100);
  ASSERT_EQ(device.findings.size(), 1U);
  EXPECT_FALSE(device.findings[0].kept);
  EXPECT_EQ(device.width(), 1);
  device.Run();
  EXPECT_EQ(device.findings.size(), 1U) << "what was turned down is not tried again";
  EXPECT_EQ(device.finished(), 100);
}

TEST(Packing, ALossCostsAtMostTwoPercent) {
  for (const double factor : {0.9, 0.5, 0.1, 0.01, 0.0}) {
    SCOPED_TRACE(factor);
    SharedDevice device(100, [factor](int n) { return n == 1 ? 10.0 : 10.0 * factor; });
    device.Run();
    EXPECT_EQ(device.finished(), 100);
    ASSERT_EQ(device.findings.size(), 1U);
    EXPECT_FALSE(device.findings[0].kept);
    EXPECT_LE(device.time(), 1.02 * Alone(100));
  }
}

TEST(Packing, TooFewTrialsAreNotWorthATry) {
  SharedDevice device(3, [](int n) { return 10.0 * n; });
  device.Run();
  EXPECT_EQ(device.widest(), 1);
  EXPECT_TRUE(device.findings.empty());
}

TEST(Packing, OutOfMemoryIsTheLimit) {
  SharedDevice device(100, [](int n) { return 10.0 * n; });
  device.out_of_memory_beyond = 2;
  device.Run();
  EXPECT_EQ(device.finished(), 100);
  EXPECT_EQ(device.widest(), 3);
  EXPECT_EQ(device.failed(), 1) << "once is enough";
  ASSERT_EQ(device.findings.size(), 2U);
  EXPECT_TRUE(device.findings[0].kept);
  EXPECT_EQ(device.findings[1].cause, "out of memory");
  EXPECT_EQ(device.findings[1].than_width, 2);
}

TEST(Packing, NobodyJoinsWhereMemoryIsShort) {
  SharedDevice device(100, [](int n) { return 10.0 * n; });
  device.available = 100 << 20;
  device.peak = 101 << 20;
  device.Run();
  EXPECT_EQ(device.widest(), 1);
  ASSERT_EQ(device.findings.size(), 1U) << "said once";
  EXPECT_EQ(device.findings[0].cause, "a worker takes up to 101 MiB, and the host has 100 MiB left");
  SharedDevice roomy(100, [](int n) { return 10.0 * n; });
  roomy.available = 102 << 20;
  roomy.peak = 101 << 20;
  roomy.Run();
  EXPECT_GT(roomy.widest(), 1);
}

TEST(Packing, NoiseDoesNotKeepALoss) {
  for (const double factor : {0.5, 0.8}) {
    SharedDevice device(100, [factor](int n) { return n == 1 ? 10.0 : 10.0 * factor; });
    device.noise = 0.3;
    device.Run();
    ASSERT_FALSE(device.findings.empty());
    EXPECT_FALSE(device.findings[0].kept);
    EXPECT_LE(device.time(), 1.02 * Alone(100)) << factor;
  }
}

TEST(Packing, WhatBecomesSlowerIsTakenBack) {
  bool throttled = false;
  SharedDevice device(200, [&throttled](int n) { return n == 1 ? 10.0 : throttled ? 5.0 : n == 2 ? 15.0 : 14.0; });
  device.Run(60);
  ASSERT_EQ(device.findings.size(), 2U);
  EXPECT_TRUE(device.findings[0].kept);
  EXPECT_EQ(device.width(), 2);
  throttled = true;
  device.Run(60);
  ASSERT_EQ(device.findings.size(), 3U);
  EXPECT_EQ(device.findings[2].cause, "slower than before");
  EXPECT_EQ(device.width(), 1);
}

TEST(Packing, SlotsOfOneHostAreOneDevice) {
  SharedDevice device(200, [](int n) { return 10.0 * std::min(n, 2); });
  device.slots = 2;
  device.Run();
  EXPECT_EQ(device.widest(), 3);
  ASSERT_EQ(device.findings.size(), 1U);
  EXPECT_EQ(device.findings[0].than_width, 2);
  EXPECT_LE(device.time(), 1.02 * Alone(200) / 2);
}

TEST(Packing, OnlyTrialsOfOneShapeThatAskForItShare) {
  Packing packing;
  packing.Seated(TrialId(1), kCard, "small", true, 1, 0);
  EXPECT_FALSE(packing.MayJoin(kCard, "small", 0, 1000)) << "nothing is known yet";
  for (int i = 0; i < 20; ++i) packing.Progressed(TrialId(1), i, 1000, 0.2 * i);
  EXPECT_FALSE(packing.MayJoin(kCard, "small", 0, 1000)) << "nobody has said what memory there is";
  packing.SawMemory("node1", 0, 0);
  EXPECT_TRUE(packing.MayJoin(kCard, "small", 0, 1000));
  EXPECT_FALSE(packing.MayJoin(kCard, "small", 1, 1000)) << "one more at a time";
  EXPECT_FALSE(packing.MayJoin(kCard, "large", 0, 1000));
  EXPECT_FALSE(packing.MayJoin({"node2", "cuda:0"}, "small", 0, 1000));
  packing.Seated(TrialId(2), kCard, "", false, 1, 4);
  EXPECT_FALSE(packing.MayJoin(kCard, "small", 0, 1000)) << "the other wants to be alone";
  EXPECT_TRUE(packing.Candidates().empty());
  packing.Left(TrialId(2), false, 5);
  EXPECT_THAT(packing.Candidates(), ::testing::SizeIs(1));
}

TEST(Packing, ShareOfASlotFollowsThoseThatCameAndWent) {
  Packing packing;
  packing.Seated(TrialId(1), kCard, "small", true, 1, 0);
  EXPECT_EQ(packing.ComputeMeanShare(TrialId(1), 10), 1);
  packing.Seated(TrialId(2), kCard, "small", true, 1, 10);
  EXPECT_DOUBLE_EQ(packing.ComputeMeanShare(TrialId(2), 14), 0.5);
  EXPECT_DOUBLE_EQ(packing.ComputeMeanShare(TrialId(1), 20), 0.75);
  packing.Left(TrialId(2), false, 20);
  EXPECT_DOUBLE_EQ(packing.ComputeMeanShare(TrialId(1), 40), 35.0 / 40);
  packing.Seated(TrialId(3), kCard, "", false, 1, 40);
  EXPECT_EQ(packing.ComputeMeanShare(TrialId(3), 50), 1) << "it is not one of those that share";
  EXPECT_EQ(packing.ComputeMeanShare(TrialId(9), 50), 1);
  Packing slots;
  for (std::uint64_t id = 1; id <= 3; ++id) slots.Seated(TrialId(id), {"node1", "cpu"}, "small", true, 2, 0);
  EXPECT_DOUBLE_EQ(slots.ComputeMeanShare(TrialId(1), 6), 2.0 / 3) << "three trials on two slots";
}

}  // namespace
}  // namespace retort::orchestrator
