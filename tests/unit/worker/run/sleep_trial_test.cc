#include "worker/sleep/sleep_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "experiments/methods/spec_codec.h"
#include "storage/results/checkpoint_store.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/worker/twin_host.h"
#include "worker/sleep/socket_host.h"

namespace retort::worker {
namespace {

using ::testing::HasSubstr;

class SleepTrial : public ::testing::Test {
 protected:
  static TrialSpec Spec(double seconds, std::int64_t steps, std::uint64_t seed = 3) {
    TrialSpec spec;
    spec.method = "sleep";
    spec.seconds = seconds;
    spec.steps = steps;
    spec.seed = seed;
    return spec;
  }
  cluster::Ended Run(const TrialSpec& spec, std::uint32_t attempt = 1) {
    TrialOrder order;
    order.attempt = {TrialId(0x77), attempt};
    order.start.spec = EncodeTrialSpec(spec);
    order.start.trial_directory = folder_ / "trials/sleep";
    order.start.attempt_directory = order.start.trial_directory + "/attempt-" + std::to_string(attempt);
    EXPECT_TRUE(IsSleep(order.start));
    return RunSleepTrial(order, host_, storage::PosixEnv());
  }

  testing::TemporaryDirectory folder_;
  FakeTrialHost host_;
};

TEST_F(SleepTrial, TakesItsTimeAndTouchesNoFile) {
  const auto began = std::chrono::steady_clock::now();
  const cluster::Ended ended = Run(Spec(0.05, 1));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_GE(took.count(), 0.05);
  EXPECT_EQ(ended.file, "");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "trials"));
  EXPECT_TRUE(host_.progress.empty()) << "the end follows at once";
  EXPECT_TRUE(host_.grants.empty());
}

TEST_F(SleepTrial, DigestDependsOnSeedAndEveryStep) {
  const std::string digest = Run(Spec(1e-3, 4)).parameters_digest;
  EXPECT_EQ(digest.size(), 64U);
  EXPECT_EQ(Run(Spec(2e-3, 4)).parameters_digest, digest) << "time is no part of it";
  EXPECT_NE(Run(Spec(1e-3, 4, 4)).parameters_digest, digest);
  EXPECT_NE(Run(Spec(1e-3, 5)).parameters_digest, digest);
}

TEST_F(SleepTrial, ReportsOftenEnoughForItsDeadline) {
  TrialSpec spec = Spec(0.6, 60);
  ASSERT_TRUE(Run(spec).succeeded);
  EXPECT_LE(host_.progress.size(), 3U) << "twice a second";
  host_ = FakeTrialHost();
  spec.execution.deadline_seconds = 0.2;
  ASSERT_TRUE(Run(spec, 2).succeeded);
  EXPECT_GE(host_.progress.size(), 6U) << "four times a deadline, on a busy machine at least twice";
}

TEST_F(SleepTrial, StoppedTrialGoesOnWhereItStood) {
  const TrialSpec spec = Spec(0.08, 40);
  host_.stop_at = 30;
  const cluster::Ended stopped = Run(spec);
  EXPECT_FALSE(stopped.succeeded);
  EXPECT_EQ(stopped.failure, FailureKind::stopped);
  EXPECT_THAT(stopped.detail, HasSubstr("the state is saved"));
  ASSERT_EQ(host_.checkpoints.size(), 1U);
  const std::int64_t reached = host_.checkpoints[0].step;
  EXPECT_GT(reached, 0);
  EXPECT_LT(reached, 40);
  host_ = FakeTrialHost();
  const cluster::Ended ended = Run(spec, 2);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(host_.progress.front().step, reached + 1);
  EXPECT_EQ(ended.parameters_digest, Run(Spec(1e-3, 40), 9).parameters_digest);
}

TEST_F(SleepTrial, CheckpointOfAnotherMethodIsRefused) {
  const std::string trial = folder_ / "trials/sleep";
  auto store = storage::CheckpointStore::Open(storage::PosixEnv(), trial, 1);
  ASSERT_TRUE(store.ok());
  ASSERT_TRUE((*store)->Commit({1, {}, {{"gang_size", "1"}}}).ok());
  const cluster::Ended ended = Run(Spec(1e-3, 2), 2);
  EXPECT_FALSE(ended.succeeded);
  EXPECT_EQ(ended.failure, FailureKind::disk);
}

const AttemptId kAttempt{TrialId(7), 1};
const Generation kGeneration{3};

TEST(SocketHost, TalkativeAgentDoesNotHoldUpTheTrial) {
  const cluster::SocketPair pair = cluster::MakeSocketPair().value();
  cluster::SocketLink agent(pair.first, cluster::SendMode::queued), own(pair.second);
  SocketHost host(own, kAttempt, kGeneration);
  constexpr int kMessages = 1000;
  for (int i = 0; i < kMessages; ++i)
    ASSERT_TRUE(agent.Send({kAttempt, kGeneration, 0, cluster::Reserved{99, true, ""}}).ok());
  ASSERT_TRUE(agent.Send({kAttempt, kGeneration, 0, cluster::Stop{true, 5}}).ok());
  int asked = 0;
  for (std::optional<cluster::Stop> stop; !stop && asked < kMessages; ++asked) {
    stop = host.StopRequested();
    ASSERT_TRUE(agent.Flush(std::chrono::milliseconds(0)).ok() || agent.has_queued());
  }
  EXPECT_GE(asked, kMessages / 256) << "it read everything at once";
  EXPECT_LT(asked, kMessages);
  EXPECT_TRUE(host.StopRequested().has_value());
}

}  // namespace
}  // namespace retort::worker
