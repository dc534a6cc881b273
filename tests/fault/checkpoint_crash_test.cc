// A stop at any operation of an attempt, or of the import by the next, leaves one of the two legal states,
// and every acknowledged release that no commit covers.
#include <gtest/gtest.h>

#include "storage/results/checkpoint_store.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/storage_samples.h"

namespace retort::storage {
namespace {

using retort::testing::Crash;
using retort::testing::FaultInjectionEnv;
using retort::testing::FloatBlob;

constexpr char kTrial[] = "trials/t";
constexpr Crash kCrashes[] = {Crash::process_killed, Crash::power_lost, Crash::power_lost_torn};

Checkpoint At(std::int64_t step) {
  return {step, {FloatBlob("student/w", {static_cast<float>(step)})}, {{"cursor", std::to_string(step)}}};
}

// What the attempt was told is safe, and what it was in the middle of.
struct Told {
  std::int64_t committed = 0, committing = 0;
  std::vector<std::int64_t> released;
  std::int64_t releasing = -1;
};

// Six steps with a release in each, and a commit after each but the third.
void Work(CheckpointStore& store, Told& told) {
  for (std::int64_t step = 0; step < 6; ++step) {
    told.releasing = step;
    if (!store.AppendReleased({step, {FloatBlob("y", {static_cast<float>(step)})}}).ok()) return;
    told.released.push_back(step);
    told.releasing = -1;
    store.AppendSeries(step, {{"loss", static_cast<double>(step)}});
    if (step == 2) continue;  // two steps under one commit
    told.committing = step + 1;
    if (!store.Commit(At(step + 1)).ok()) return;
    told.committed = step + 1;
  }
}

std::int64_t FindStep(CheckpointStore& store) {
  const auto latest = store.Latest();
  EXPECT_TRUE(latest.ok()) << latest.status().message();
  if (!latest.ok() || !*latest) return 0;
  EXPECT_EQ((*latest)->tensors, At((*latest)->step).tensors);
  EXPECT_EQ((*latest)->attributes, At((*latest)->step).attributes);
  return (*latest)->step;
}

void ExpectLegal(CheckpointStore& store, const Told& told) {
  const std::int64_t step = FindStep(store);
  EXPECT_TRUE(step == told.committed || step == told.committing)
      << step << " is neither " << told.committed << " nor " << told.committing;
  const auto records = store.Transcript();
  ASSERT_TRUE(records.ok()) << records.status().message();
  std::vector<std::int64_t> expected;
  for (const std::int64_t released : told.released) {
    if (released >= step) expected.push_back(released);
  }
  std::vector<std::int64_t> found;
  for (const TranscriptRecord& record : *records) {
    found.push_back(record.step);
    EXPECT_EQ(record.released, std::vector<TensorBlob>{FloatBlob("y", {static_cast<float>(record.step)})});
  }
  if (found.size() == expected.size() + 1 && found.back() == told.releasing)
    found.pop_back();  // written, not acknowledged
  EXPECT_EQ(found, expected);
  const auto series = store.Series();
  ASSERT_TRUE(series.ok()) << series.status().message();
  const auto loss = series->find("loss");
  const std::size_t points = loss == series->end() ? 0 : loss->second.size();
  EXPECT_GE(points, static_cast<std::size_t>(step));  // synced with the commit
  EXPECT_LE(points, static_cast<std::size_t>(step) + 1);
}

TEST(CheckpointCrash, StopAtAnyOperationLeavesALegalState) {
  int stops = 0;
  for (const Crash crash : kCrashes) {
    for (const std::uint32_t next : {1U, 2U}) {
      for (int stop = 0;; ++stop) {
        SCOPED_TRACE("crash " + std::to_string(static_cast<int>(crash)) + ", stop at " + std::to_string(stop) +
                     ", reopened as attempt " + std::to_string(next));
        FaultInjectionEnv env;
        env.StopAt(stop);
        Told told;
        if (auto store = CheckpointStore::Open(env, kTrial, 1); store.ok()) Work(**store, told);
        const bool finished = !env.stopped();
        env.Restart(crash);
        auto store = CheckpointStore::Open(env, kTrial, next);
        ASSERT_TRUE(store.ok()) << store.status().message();
        ExpectLegal(**store, told);
        if (::testing::Test::HasFailure()) return;
        ++stops;
        if (finished) break;
      }
    }
  }
  EXPECT_GT(stops, 6 * 40);
}

TEST(CheckpointCrash, AStopAtAnyOperationOfTheImportLosesNothing) {
  for (const Crash crash : kCrashes) {
    for (int stop = 0;; ++stop) {
      SCOPED_TRACE("crash " + std::to_string(static_cast<int>(crash)) + ", stop at " + std::to_string(stop));
      FaultInjectionEnv env;
      Told told;
      {
        auto store = CheckpointStore::Open(env, kTrial, 1);
        ASSERT_TRUE(store.ok());
        env.StopAt(env.operations() + 20);  // an attempt that was itself killed
        Work(**store, told);
      }
      ASSERT_TRUE(env.stopped());
      ASSERT_GT(told.committed, 0);
      env.Restart(Crash::process_killed);
      env.StopAt(stop);
      const bool finished = CheckpointStore::Open(env, kTrial, 2).ok();
      env.Restart(crash);
      for (const std::uint32_t attempt : {2U, 3U}) {
        auto store = CheckpointStore::Open(env, kTrial, attempt);
        ASSERT_TRUE(store.ok()) << store.status().message();
        ExpectLegal(**store, told);
      }
      if (::testing::Test::HasFailure()) return;
      if (finished) break;
    }
  }
}

TEST(CheckpointCrash, AFailedOperationIsReportedAndLeavesALegalState) {
  for (int failing = 0;; ++failing) {
    SCOPED_TRACE(failing);
    FaultInjectionEnv env;
    env.FailAt(failing, EnvironmentError("No space left on device"));
    Told told;
    bool reported = true;
    if (auto store = CheckpointStore::Open(env, kTrial, 1); store.ok()) {
      Work(**store, told);
      reported = told.committed < 6;
    }
    if (env.operations() <= failing) break;
    EXPECT_TRUE(reported);
    env.ClearFaults();
    auto store = CheckpointStore::Open(env, kTrial, 2);
    ASSERT_TRUE(store.ok()) << store.status().message();
    ExpectLegal(**store, told);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CheckpointCrash, AStopWhileRemovingCheckpointsLeavesNoHalf) {
  for (const Crash crash : kCrashes) {
    for (int stop = 0;; ++stop) {
      FaultInjectionEnv env;
      Told told;
      auto store = CheckpointStore::Open(env, kTrial, 1);
      ASSERT_TRUE(store.ok());
      Work(**store, told);
      env.StopAt(env.operations() + stop);
      const bool finished = (*store)->RemoveCheckpoints().ok();
      env.Restart(crash);
      auto again = CheckpointStore::Open(env, kTrial, 1);
      ASSERT_TRUE(again.ok()) << again.status().message();
      const std::int64_t step = FindStep(**again);
      EXPECT_TRUE(step == 6 || step == 5 || step == 0) << step;
      if (finished) break;
    }
  }
}

}  // namespace
}  // namespace retort::storage
