#include "orchestrator/agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <memory>

#include "experiments/methods/spec_codec.h"
#include "orchestrator/reactor/reactor.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::TrialBuilder;

// What the test sees of a worker; outlives its port.
struct WorkerLife {
  std::deque<Result<std::optional<cluster::Envelope>>> says;
  std::vector<cluster::Envelope> told;
  bool killed = false, gone = false, closed = false;
  std::int64_t peak = 0;
  bool dies_slowly = false;  // SIGKILL takes its time
  std::optional<WorkerEnd> end;
};

class FakePort final : public WorkerPort {
 public:
  explicit FakePort(std::shared_ptr<WorkerLife> life) : life_(std::move(life)) {}
  ~FakePort() override { life_->gone = true; }
  Status Send(const cluster::Envelope& envelope) override {
    if (life_->closed) return Cancelled("closed");
    life_->told.push_back(envelope);
    return {};
  }
  Result<std::optional<cluster::Envelope>> Receive() override {
    if (life_->says.empty()) {
      if (life_->closed) return Cancelled("closed");
      return std::optional<cluster::Envelope>();
    }
    auto next = std::move(life_->says.front());
    life_->says.pop_front();
    return next;
  }
  std::optional<WorkerEnd> Reap() override {
    if (!life_->end && life_->killed && !life_->dies_slowly)
      life_->end = WorkerEnd{FailureKind::worker_crash, "killed", false};
    return std::exchange(life_->end, std::nullopt);
  }
  void Kill() override { life_->killed = true; }
  std::int64_t PeakBytes() const override { return life_->peak; }
  int fd() override { return 100; }

 private:
  std::shared_ptr<WorkerLife> life_;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() { Make(1); }

  void Make(int slots, int seats_per_slot = 1) {
    agent_ = std::make_unique<Agent>(
        AgentIdentity{"host", "build", std::vector<std::string>(static_cast<std::size_t>(slots), "cpu"), "10.0.0.7",
                      seats_per_slot, [] { return std::int64_t{1} << 30; }},
        [this](int, const cluster::Start&) -> Result<std::unique_ptr<WorkerPort>> {
          if (refuse_) return EnvironmentError("no such program");
          workers_.push_back(std::make_shared<WorkerLife>());
          return std::unique_ptr<WorkerPort>(std::make_unique<FakePort>(workers_.back()));
        },
        now_);
    static_cast<void>(agent_->TakeOutgoing());
  }
  void Lease(std::uint32_t number, int slot = 0, double deadline = 10) {
    const TrialSpec spec = TrialBuilder(1).Deadline(deadline).Build();
    attempt_ = {spec.id, number};
    cluster::Lease lease;
    lease.slot = slot;
    lease.members = {{0, slot}};
    lease.start.spec = EncodeTrialSpec(spec);
    agent_->OnMessage({attempt_, Generation{number}, 0, lease}, now_);
  }
  // Both members of a gang of two, on slots 0 and 1; neither worker is up yet.
  void LeaseGang(std::uint32_t number) {
    const TrialSpec spec = TrialBuilder(1).Deadline(10).Devices(2).Build();
    attempt_ = {spec.id, number};
    cluster::Lease lease;
    lease.members = {{0, 0}, {0, 1}};
    lease.start.spec = EncodeTrialSpec(spec);
    lease.start.gang_size = 2;
    for (lease.slot = 0; lease.slot < 2; ++lease.slot) {
      lease.start.gang_rank = lease.slot;
      agent_->OnMessage({attempt_, Generation{number}, 0, lease}, now_);
    }
  }
  void Greet(WorkerLife& worker) {
    worker.says.emplace_back(std::optional(cluster::Envelope{{}, {}, 0, cluster::Hello{"b", "cpu", {}}}));
    Poll();
  }
  // A worker that is up and has its Start.
  WorkerLife& Busy(std::uint32_t number = 1) {
    Lease(number);
    workers_.back()->says.emplace_back(std::optional(cluster::Envelope{{}, {}, 0, cluster::Hello{"b", "cpu", {}}}));
    Poll();
    EXPECT_THAT(workers_.back()->told, SizeIs(1));
    static_cast<void>(agent_->TakeOutgoing());
    return *workers_.back();
  }
  void Poll(double seconds = 0) {
    now_ += seconds;
    agent_->Poll(now_);
  }
  void Say(WorkerLife& worker, cluster::Message message) {
    worker.says.emplace_back(
        std::optional(cluster::Envelope{attempt_, Generation{attempt_.number}, 0, std::move(message)}));
    Poll();
  }
  template <typename T>
  std::vector<T> Take() {
    std::vector<T> found;
    for (const cluster::Envelope& envelope : agent_->TakeOutgoing())
      if (const auto* wanted = std::get_if<T>(&envelope.message)) found.push_back(*wanted);
    return found;
  }

  double now_ = 1000;
  bool refuse_ = false;
  std::vector<std::shared_ptr<WorkerLife>> workers_;
  std::unique_ptr<Agent> agent_;
  AttemptId attempt_;
};

TEST_F(AgentTest, RegistersItsDevicesFirst) {
  agent_ =
      std::make_unique<Agent>(AgentIdentity{"host", "build", {"cuda:0", "cuda:1"}, "10.0.0.7"}, WorkerSpawner(), now_);
  const auto registered = Take<cluster::Register>();
  ASSERT_THAT(registered, SizeIs(1));
  EXPECT_EQ(registered[0].slots, 2);
  EXPECT_EQ(registered[0].devices[1], "cuda:1");
}

TEST_F(AgentTest, SpawnsNothingBeforeTheFirstLease) {
  Poll(100);
  EXPECT_THAT(workers_, IsEmpty());
  EXPECT_THAT(agent_->ReadableFds(), IsEmpty());
}

TEST_F(AgentTest, SendsHeartbeatsEveryFiveSeconds) {
  for (int i = 0; i < 20; ++i) Poll(1);
  EXPECT_THAT(Take<cluster::Heartbeat>(), SizeIs(4));
}

TEST_F(AgentTest, ADeviceThatIsSharedHasAWorkerForEachSeat) {
  Make(1, 2);
  Lease(1, 0);
  Lease(2, 1);
  EXPECT_EQ(agent_->busy(), 2);
  EXPECT_THAT(workers_, SizeIs(2));
  Lease(3, 2);
  EXPECT_EQ(agent_->busy(), 2) << "there is no third seat";
}

TEST_F(AgentTest, HeartbeatsSayWhatMemoryThereIs) {
  Make(2);
  Lease(1, 0);
  Lease(2, 1);
  workers_[0]->peak = 300;
  workers_[1]->peak = 500;
  now_ += kHeartbeatSeconds + 1;
  Poll();
  std::vector<cluster::Heartbeat> beats;
  for (const cluster::Envelope& envelope : agent_->TakeOutgoing())
    if (const auto* beat = std::get_if<cluster::Heartbeat>(&envelope.message)) beats.push_back(*beat);
  ASSERT_THAT(beats, SizeIs(1));
  EXPECT_EQ(beats[0].memory_available, std::int64_t{1} << 30);
  EXPECT_EQ(beats[0].worker_peak, 500);
}

TEST_F(AgentTest, StartGoesToTheWorkerAfterItsHello) {
  Lease(1);
  ASSERT_THAT(workers_, SizeIs(1));
  Poll();
  EXPECT_THAT(workers_[0]->told, IsEmpty());
  workers_[0]->says.emplace_back(std::optional(cluster::Envelope{{}, {}, 0, cluster::Hello{"b", "cpu", {}}}));
  Poll();
  ASSERT_THAT(workers_[0]->told, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<cluster::Start>(workers_[0]->told[0].message));
  EXPECT_EQ(workers_[0]->told[0].attempt, attempt_);
  EXPECT_THAT(Take<cluster::Hello>(), SizeIs(1));
}

TEST_F(AgentTest, ForwardsWhatBelongsToTheAttempt) {
  WorkerLife& worker = Busy();
  Say(worker, cluster::Progress{1, 10, "train", {}});
  Say(worker, cluster::Reserve{1, {}, 4});
  const auto outgoing = agent_->TakeOutgoing();
  ASSERT_THAT(outgoing, SizeIs(2));
  EXPECT_EQ(outgoing[0].attempt, attempt_);
  EXPECT_LT(outgoing[0].sequence, outgoing[1].sequence);
  agent_->OnMessage({attempt_, Generation{1}, 0, cluster::Reserved{1, true, ""}}, now_);
  EXPECT_TRUE(std::holds_alternative<cluster::Reserved>(worker.told.back().message));
}

TEST_F(AgentTest, DropsWhatBelongsToAnotherAttempt) {
  WorkerLife& worker = Busy();
  worker.says.emplace_back(
      std::optional(cluster::Envelope{{attempt_.trial, 9}, Generation{1}, 0, cluster::Progress{1, 10, "train", {}}}));
  Poll();
  EXPECT_THAT(agent_->TakeOutgoing(), IsEmpty());
}

TEST_F(AgentTest, WorkerIsKeptForTheNextAttempt) {
  WorkerLife& worker = Busy();
  cluster::Ended ended;
  ended.succeeded = true;
  Say(worker, ended);
  EXPECT_THAT(Take<cluster::Ended>(), SizeIs(1));
  Lease(2);
  EXPECT_THAT(workers_, SizeIs(1));
  EXPECT_THAT(worker.told, SizeIs(2));
}

TEST_F(AgentTest, WorkerThatFailedAnAttemptIsReplaced) {
  WorkerLife& worker = Busy();
  cluster::Ended ended;
  ended.failure = FailureKind::out_of_memory;
  Say(worker, ended);
  EXPECT_TRUE(worker.killed);
  Lease(2);
  Poll();
  EXPECT_THAT(workers_, SizeIs(2));
  EXPECT_THAT(Take<cluster::WorkerLost>(), IsEmpty());
}

TEST_F(AgentTest, DeadWorkerIsReportedWithItsCauseAndReplaced) {
  WorkerLife& worker = Busy();
  worker.end = WorkerEnd{FailureKind::out_of_memory, "killed for its memory", false};
  Poll();
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].failure, FailureKind::out_of_memory);
  EXPECT_EQ(lost[0].detail, "killed for its memory");
  Lease(2);
  Poll(1);
  EXPECT_THAT(workers_, SizeIs(2));
}

TEST_F(AgentTest, LastWordsOfADeadWorkerCount) {
  WorkerLife& worker = Busy();
  cluster::Ended ended;
  ended.succeeded = true;
  worker.end = WorkerEnd{FailureKind::worker_crash, "exit 1", true};
  worker.says.emplace_back(std::optional(cluster::Envelope{attempt_, Generation{1}, 0, ended}));
  Poll();
  const auto outgoing = agent_->TakeOutgoing();
  ASSERT_THAT(outgoing, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<cluster::Ended>(outgoing[0].message));
}

TEST_F(AgentTest, WorkerThatClosesItsSocketIsKilledAfterAMoment) {
  WorkerLife& worker = Busy();
  worker.closed = true;
  Poll();
  EXPECT_THAT(agent_->ReadableFds(), IsEmpty()) << "end of file is readable for ever";
  EXPECT_FALSE(worker.killed);
  Poll(2);
  EXPECT_TRUE(worker.killed);
  Poll();
  EXPECT_THAT(Take<cluster::WorkerLost>(), SizeIs(1));
}

TEST_F(AgentTest, MalformedEnvelopeKillsThatWorkerAndNamesTheField) {
  WorkerLife& worker = Busy();
  worker.says.emplace_back(Refused("Malformed envelope, field crc"));
  Poll();
  EXPECT_TRUE(worker.killed);
  Poll();
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].failure, FailureKind::bad_message);
  EXPECT_THAT(lost[0].detail, HasSubstr("field crc"));
  EXPECT_EQ(agent_->malformed(), 1U);
}

TEST_F(AgentTest, WorkerThatSpeaksLikeAnOrchestratorIsKilled) {
  WorkerLife& worker = Busy();
  Say(worker, cluster::Shutdown{});
  Poll();
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].failure, FailureKind::bad_message);
  EXPECT_FALSE(agent_->shut_down());
}

TEST_F(AgentTest, SilentWorkerIsKilledAtItsDeadline) {
  WorkerLife& worker = Busy();
  for (int step = 1; step <= 5; ++step) {
    Poll(4);
    Say(worker, cluster::Progress{step, 10, "train", {}});
  }
  EXPECT_FALSE(worker.killed);
  for (int i = 0; i < 3; ++i) Poll(4);
  EXPECT_TRUE(worker.killed);
  Poll();
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].failure, FailureKind::worker_hang);
  EXPECT_THAT(lost[0].detail, HasSubstr("10 s"));
}

TEST_F(AgentTest, ShortDeadlineCountsFromTheFirstStep) {
  Lease(1, 0, 0.4);
  WorkerLife& worker = *workers_[0];
  Poll(2);
  Greet(worker);
  Poll(3);
  EXPECT_FALSE(worker.killed) << "LibTorch and the data are still read";
  Say(worker, cluster::Progress{1, 10, "train", {}});
  Poll(0.3);
  EXPECT_FALSE(worker.killed);
  Poll(0.2);
  EXPECT_TRUE(worker.killed);
  Poll();
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_THAT(lost[0].detail, HasSubstr("no step progress for 0.4 s"));
}

TEST_F(AgentTest, WorkerWithoutHelloIsKilledToo) {
  Lease(1);
  for (int i = 0; i < 4; ++i) Poll(4);
  EXPECT_TRUE(workers_[0]->killed);
  Poll();
  EXPECT_THAT(Take<cluster::WorkerLost>(), SizeIs(1));
}

TEST_F(AgentTest, StoppedAgentBlamesNobodyForTheGap) {
  WorkerLife& worker = Busy();
  Poll(1);
  Poll(1000);
  EXPECT_FALSE(worker.killed);
}

TEST_F(AgentTest, ProgramThatCannotBeStartedIsReported) {
  refuse_ = true;
  Lease(1);
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].failure, FailureKind::spawn);
  EXPECT_EQ(lost[0].detail, "no such program");
  EXPECT_EQ(agent_->busy(), 0);
}

TEST_F(AgentTest, WorkersThatDieAtOnceAreStartedEverMoreRarely) {
  std::size_t spawned = 0;
  std::uint32_t attempt = 0;
  for (double end = now_ + 20; now_ < end; Poll(0.05)) {
    if (agent_->busy() == 0) Lease(++attempt);
    if (workers_.size() > spawned) {
      spawned = workers_.size();
      workers_.back()->end = WorkerEnd{FailureKind::worker_crash, "exit 127", true};
    }
  }
  EXPECT_LE(spawned, 9U);
  for (const auto& lost : Take<cluster::WorkerLost>()) EXPECT_EQ(lost.failure, FailureKind::spawn);
}

TEST_F(AgentTest, NewLeaseReplacesTheOldAttemptSilently) {
  WorkerLife& old = Busy(1);
  Lease(2);
  EXPECT_TRUE(old.killed);
  Poll();
  ASSERT_THAT(workers_, SizeIs(2));
  workers_[1]->says.emplace_back(std::optional(cluster::Envelope{{}, {}, 0, cluster::Hello{"b", "cpu", {}}}));
  Poll();
  ASSERT_THAT(workers_[1]->told, SizeIs(1));
  EXPECT_EQ(workers_[1]->told[0].attempt.number, 2U);
  EXPECT_THAT(Take<cluster::WorkerLost>(), IsEmpty());
}

TEST_F(AgentTest, VerdictOnAnOldAttemptDoesNotHitTheNewOne) {
  WorkerLife& old = Busy(1);
  old.dies_slowly = true;
  old.says.emplace_back(Refused("garbage"));
  Poll();
  ASSERT_TRUE(old.killed);
  Lease(2);
  Poll();
  EXPECT_THAT(workers_, SizeIs(1)) << "the old worker may still hold the device";
  old.dies_slowly = false;
  Poll(1);
  EXPECT_THAT(Take<cluster::WorkerLost>(), IsEmpty());
  EXPECT_EQ(agent_->busy(), 1);
  EXPECT_THAT(workers_, SizeIs(2));
}

TEST_F(AgentTest, RepeatedLeaseChangesNothing) {
  WorkerLife& worker = Busy(1);
  Lease(1);
  Poll();
  EXPECT_FALSE(worker.killed);
  EXPECT_THAT(workers_, SizeIs(1));
}

TEST_F(AgentTest, LeaseOfASlotThatIsNotThereIsAnswered) {
  Lease(1, 7);
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].failure, FailureKind::configuration);
}

TEST_F(AgentTest, DrainAsksWorkersToSaveAndKillsThemAtTheDeadline) {
  WorkerLife& worker = Busy();
  agent_->OnMessage({{}, {}, 0, cluster::Drain{true, 3}}, now_);
  ASSERT_THAT(worker.told, SizeIs(2));
  const auto& stop = std::get<cluster::Stop>(worker.told[1].message);
  EXPECT_TRUE(stop.save);
  EXPECT_EQ(stop.deadline_seconds, 3);
  Poll(2);
  EXPECT_FALSE(worker.killed);
  Poll(2);
  EXPECT_TRUE(worker.killed);
  Poll();
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].failure, FailureKind::stopped);
}

TEST_F(AgentTest, DrainBeforeTheWorkerIsUpEndsTheAttemptAtOnce) {
  Lease(1);
  agent_->OnMessage({{}, {}, 0, cluster::Drain{true, 3}}, now_);
  const auto lost = Take<cluster::WorkerLost>();
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].failure, FailureKind::stopped);
  Lease(2);
  EXPECT_EQ(Take<cluster::WorkerLost>()[0].failure, FailureKind::stopped) << "a draining agent takes no lease";
}

TEST_F(AgentTest, StopWithoutSavingEndsTheAttemptSilently) {
  WorkerLife& worker = Busy();
  agent_->OnMessage({attempt_, Generation{1}, 0, cluster::Stop{false, 0}}, now_);
  EXPECT_TRUE(worker.killed);
  Poll();
  EXPECT_THAT(Take<cluster::WorkerLost>(), IsEmpty());
  EXPECT_EQ(agent_->busy(), 0);
}

TEST_F(AgentTest, StopOfAnotherAttemptIsIgnored) {
  WorkerLife& worker = Busy(2);
  agent_->OnMessage({{attempt_.trial, 1}, Generation{1}, 0, cluster::Stop{false, 0}}, now_);
  EXPECT_FALSE(worker.killed);
}

TEST_F(AgentTest, ShutdownLeavesNoWorker) {
  WorkerLife& worker = Busy();
  agent_->OnMessage({{}, {}, 0, cluster::Shutdown{}}, now_);
  EXPECT_TRUE(worker.gone);
  EXPECT_TRUE(agent_->shut_down());
}

TEST_F(AgentTest, GangRankZeroIsHeardAndTheOthersOnlyWhenTheyFail) {
  Make(2);
  LeaseGang(1);
  Greet(*workers_[0]);
  Greet(*workers_[1]);
  static_cast<void>(agent_->TakeOutgoing());
  Say(*workers_[1], cluster::Progress{1, 10, "train", {}});
  Say(*workers_[0], cluster::Progress{1, 10, "train", {}});
  EXPECT_THAT(Take<cluster::Progress>(), SizeIs(1));
  cluster::Ended ended;
  ended.succeeded = true;
  Say(*workers_[1], ended);
  EXPECT_THAT(Take<cluster::Ended>(), IsEmpty());
  EXPECT_EQ(agent_->busy(), 1);
  Say(*workers_[0], ended);
  EXPECT_THAT(Take<cluster::Ended>(), SizeIs(1));
  LeaseGang(2);
  Poll();
  ended.succeeded = false;
  ended.failure = FailureKind::gang_broken;
  Say(*workers_[1], ended);
  ASSERT_THAT(Take<cluster::Ended>(), SizeIs(1));
}

TEST_F(AgentTest, AGangsAddressWaitsForAMemberThatIsStillStarting) {
  Make(2);
  LeaseGang(1);
  Greet(*workers_[0]);
  agent_->OnMessage({attempt_, Generation{1}, 0, cluster::GangReady{"store"}}, now_);
  EXPECT_THAT(workers_[0]->told, SizeIs(1)) << "gang rank 0 opened the store itself";
  EXPECT_THAT(workers_[1]->told, IsEmpty());
  Greet(*workers_[1]);
  ASSERT_THAT(workers_[1]->told, SizeIs(2));
  EXPECT_TRUE(std::holds_alternative<cluster::Start>(workers_[1]->told[0].message));
  EXPECT_TRUE(std::holds_alternative<cluster::GangReady>(workers_[1]->told[1].message));
}

TEST_F(AgentTest, GangAddressWaitsForAMembersOldWorker) {
  Make(2);
  LeaseGang(1);
  Greet(*workers_[0]);
  Greet(*workers_[1]);
  workers_[1]->dies_slowly = true;
  agent_->OnMessage({attempt_, Generation{1}, 0, cluster::Stop{false, 0}}, now_);
  ASSERT_TRUE(workers_[1]->killed);
  LeaseGang(2);
  agent_->OnMessage({attempt_, Generation{2}, 0, cluster::GangReady{"store"}}, now_);
  workers_[1]->end = WorkerEnd();
  for (int i = 0; i < 5; ++i) Poll(1);
  ASSERT_GT(workers_.size(), 2U);
  for (std::size_t i = 2; i < workers_.size(); ++i) Greet(*workers_[i]);
  int ready = 0;
  for (std::size_t i = 2; i < workers_.size(); ++i)
    for (const cluster::Envelope& told : workers_[i]->told)
      ready += std::holds_alternative<cluster::GangReady>(told.message) ? 1 : 0;
  EXPECT_EQ(ready, 1);
}

TEST_F(AgentTest, StopEndsEveryMemberOfAGangOnThisAgent) {
  Make(2);
  LeaseGang(1);
  Greet(*workers_[0]);
  Greet(*workers_[1]);
  agent_->OnMessage({attempt_, Generation{1}, 0, cluster::Stop{false, 0}}, now_);
  EXPECT_TRUE(workers_[0]->killed);
  EXPECT_TRUE(workers_[1]->killed);
  EXPECT_EQ(agent_->busy(), 0);
}

TEST_F(AgentTest, WorkerThatNotEvenSigkillEndsIsLookedAtOnceASecond) {
  WorkerLife& worker = Busy();
  worker.dies_slowly = true;
  agent_->OnMessage({attempt_, Generation{1}, 0, cluster::Stop{false, 0}}, now_);
  Poll();
  EXPECT_LE(agent_->NextDeadline(), now_ + 0.01) << "most are gone in milliseconds";
  Poll(3);
  EXPECT_GE(agent_->NextDeadline(), now_ + 0.5);
  worker.dies_slowly = false;
  Poll(1);
  EXPECT_TRUE(worker.gone);
}

TEST_F(AgentTest, WorkerThatTalksWithoutEndLeavesOthersTheirTurn) {
  Make(2);
  LeaseGang(1);
  Greet(*workers_[0]);
  Greet(*workers_[1]);
  static_cast<void>(agent_->TakeOutgoing());
  for (int step = 0; step < 10'000; ++step)
    workers_[0]->says.emplace_back(
        std::optional(cluster::Envelope{attempt_, Generation{1}, 0, cluster::Progress{step, 10'000, "train", {}}}));
  workers_[1]->says.emplace_back(std::optional(cluster::Envelope{
      attempt_, Generation{1}, 0, cluster::Ended{false, FailureKind::out_of_memory, "no memory", {}, {}, "", ""}}));
  Poll();
  EXPECT_GT(workers_[0]->says.size(), 9'000U);
  const std::vector<cluster::Envelope> outgoing = agent_->TakeOutgoing();
  EXPECT_LT(outgoing.size(), 1'000U);
  EXPECT_TRUE(std::holds_alternative<cluster::Ended>(outgoing.back().message));
  for (int poll = 0; poll < 50; ++poll) Poll();
  EXPECT_THAT(workers_[0]->says, IsEmpty()) << "nothing is lost";
}

TEST_F(AgentTest, WaitsNoLongerThanTheNearestDeadline) {
  EXPECT_LE(agent_->NextDeadline(), now_ + kHeartbeatSeconds);
  Busy();
  agent_->OnMessage({{}, {}, 0, cluster::Drain{true, 1}}, now_);
  EXPECT_LE(agent_->NextDeadline(), now_ + 1);
}

}  // namespace
}  // namespace retort::orchestrator
