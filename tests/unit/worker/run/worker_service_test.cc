// The worker's protocol, seen from the agent's end of a socketpair.
#include "worker/run/worker_service.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/headeronly/version.h>

#include <thread>
#include <variant>
#include <vector>

#include "cluster/messages.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

using cluster::Envelope;
using std::chrono::milliseconds;

class WorkerService : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto pair = cluster::MakeSocketPair();
    ASSERT_TRUE(pair.ok());
    agent_ = cluster::SocketLink(pair->first, cluster::SendMode::queued);
    worker_ = std::thread([fd = pair->second] {
      cluster::SocketLink link(fd);
      Devices devices("/nowhere/libretort_cuda.so");
      EXPECT_TRUE(ServeAgent(link, storage::PosixEnv(), "test-build", devices).ok());
    });
    const Envelope hello = Next();
    ASSERT_TRUE(std::holds_alternative<cluster::Hello>(hello.message));
    EXPECT_EQ(std::get<cluster::Hello>(hello.message).build, "test-build");
  }
  void TearDown() override {
    agent_.Close();
    worker_.join();
  }

  Envelope Next() {
    for (int i = 0; i < 60; ++i) {
      auto received = agent_.Receive(milliseconds(1000));
      if (!received.ok()) break;
      if (received->has_value()) return **received;
    }
    ADD_FAILURE() << "nothing came from the worker";
    return {};
  }
  void Start(const TrialOrder& order) {
    ASSERT_TRUE(agent_.Send({order.attempt, {order.generation}, 0, order.start}).ok());
  }
  // Answers reservations until the attempt ends.
  cluster::Ended UntilEnded(const TrialOrder& order, bool grant = true) {
    for (;;) {
      const Envelope envelope = Next();
      if (::testing::Test::HasFailure()) return {};
      EXPECT_EQ(envelope.attempt, order.attempt);
      EXPECT_EQ(envelope.generation.value, order.generation);
      EXPECT_GT(envelope.sequence, 0U);
      seen_.push_back(envelope.message);
      if (const auto* reserve = std::get_if<cluster::Reserve>(&envelope.message)) {
        const cluster::Reserved answer{reserve->id, grant, grant ? "" : "no budget left"};
        EXPECT_TRUE(agent_.Send({order.attempt, {order.generation}, 0, answer}).ok());
      }
      if (const auto* ended = std::get_if<cluster::Ended>(&envelope.message)) return *ended;
    }
  }
  template <typename M>
  std::int64_t Count() const {
    return std::count_if(seen_.begin(), seen_.end(), [](const auto& m) { return std::holds_alternative<M>(m); });
  }

  TinyTrials tiny_;
  cluster::SocketLink agent_;
  std::thread worker_;
  std::vector<cluster::Message> seen_;
};

TEST_F(WorkerService, TrainsOneTrialAfterAnother) {
  const TrialOrder teacher = tiny_.Order(tiny_.Teacher("plain"), "teacher", 1);
  Start(teacher);
  const cluster::Ended first = UntilEnded(teacher);
  ASSERT_TRUE(first.succeeded) << first.detail;
  EXPECT_GE(Count<cluster::Progress>(), 1);
  EXPECT_GE(Count<cluster::CheckpointCommitted>(), 1);
  const TrialOrder student =
      tiny_.Order(tiny_.Student(Reading::working), "student", 1, teacher.start.attempt_directory + "/attempt.h5");
  Start(student);
  const cluster::Ended second = UntilEnded(student);
  ASSERT_TRUE(second.succeeded) << second.detail;
  EXPECT_EQ(Count<cluster::Reserve>(), Count<cluster::Settle>());
}

TEST_F(WorkerService, RefusalEndsTheAttempt) {
  const TrialOrder order = tiny_.Order(tiny_.DpSgdStudent(), "refused", 1);
  Start(order);
  const cluster::Ended ended = UntilEnded(order, /*grant=*/false);
  EXPECT_EQ(ended.failure, FailureKind::budget_refused);
  EXPECT_EQ(ended.detail, "no budget left");
}

TEST_F(WorkerService, StopSavesAndEnds) {
  TrialSpec spec = tiny_.Teacher("plain");
  spec.epochs = 100'000;
  const TrialOrder order = tiny_.Order(spec, "long", 1);
  Start(order);
  ASSERT_TRUE(agent_.Send({order.attempt, {order.generation}, 0, cluster::Stop{true, 30}}).ok());
  const cluster::Ended ended = UntilEnded(order);
  EXPECT_FALSE(ended.succeeded);
  EXPECT_EQ(ended.failure, FailureKind::stopped);
  EXPECT_GE(Count<cluster::CheckpointCommitted>(), 2) << "the first one, and the one of the stop";
}

TEST_F(WorkerService, StopEndsAWaitForTheLedger) {
  const TrialOrder order = tiny_.Order(tiny_.DpSgdStudent(), "waiting", 1);
  Start(order);
  for (;;) {
    const Envelope envelope = Next();
    if (std::holds_alternative<cluster::Reserve>(envelope.message) || HasFailure()) break;
  }
  ASSERT_TRUE(agent_.Send({order.attempt, {order.generation}, 0, cluster::Stop{true, 30}}).ok());
  EXPECT_EQ(UntilEnded(order).failure, FailureKind::stopped);
}

TEST_F(WorkerService, MessagesOfAnotherAttemptAreIgnored) {
  const TrialOrder order = tiny_.Order(tiny_.Teacher("plain"), "current", 2);
  Start(order);
  AttemptId stale = order.attempt;
  stale.number = 1;
  ASSERT_TRUE(agent_.Send({stale, {1}, 0, cluster::Stop{true, 30}}).ok());
  EXPECT_TRUE(UntilEnded(order).succeeded);
}

using ::testing::HasSubstr;

TEST(SelfReport, NamesBuildLibraryAndMeasuredSpeed) {
  const Result<cluster::WorkerReport> report = ReportSelf("9.8.7", at::get_num_threads());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->build, "9.8.7");
  EXPECT_EQ(report->envelope, cluster::kEnvelopeVersion);
  EXPECT_EQ(report->torch, TORCH_VERSION);
  EXPECT_EQ(report->threads, at::get_num_threads());
  EXPECT_NE(report->capability, "");
  EXPECT_GT(report->gflops, 0.01);
  EXPECT_LT(report->gflops, 1e5);  // no host of today has that: a product that did not happen would
}

TEST(SelfReport, WrongNumberOfThreadsIsRefused) {
  for (const char* threads : {"", "0", "-1", "two", "2x", "1025"}) {
    Result<cluster::SocketPair> sockets = cluster::MakeSocketPair();
    ASSERT_TRUE(sockets.ok());
    cluster::SocketLink worker(sockets->first), asker(sockets->second);
    ASSERT_TRUE(ServeReport(worker, "9.8.7", threads).ok());
    const auto said = asker.Receive(std::chrono::seconds(5));
    ASSERT_TRUE(said.ok() && said->has_value());
    const auto* ended = std::get_if<cluster::Ended>(&(*said)->message);
    ASSERT_NE(ended, nullptr) << threads;
    EXPECT_FALSE(ended->succeeded);
    EXPECT_EQ(ended->failure, FailureKind::configuration);
    EXPECT_THAT(ended->detail, HasSubstr("no number of threads"));
  }
}

}  // namespace
}  // namespace retort::worker
