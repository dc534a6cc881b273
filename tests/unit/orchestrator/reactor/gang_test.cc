// Placement of gangs, and what the orchestrator says to their members.
#include <gmock/gmock.h>

#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/scheduler.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakePlan;
using testing::TrialBuilder;

class GangTest : public OrchestratorTest {
 protected:
  static TrialSpec Gang(std::uint64_t seed, int devices, int priority = 0) {
    return TrialBuilder(seed).Teacher("t" + std::to_string(seed)).Devices(devices).Priority(priority).Build();
  }
  [[nodiscard]] std::vector<Seat> FindSeats(const TrialSpec& spec) const {
    const ActiveAttempt* attempt = core_.fleet.Find(spec.id);
    return attempt == nullptr ? std::vector<Seat>() : attempt->seats;
  }
  void SayFrom(int rank, const TrialSpec& spec, cluster::Message message) {
    const ActiveAttempt* attempt = core_.fleet.Find(spec.id);
    ASSERT_NE(attempt, nullptr);
    Hear(rank, {attempt->id, attempt->generation, 0, std::move(message)});
  }
};

TEST_F(GangTest, EveryMemberGetsItsOwnLeaseOfOneAttempt) {
  const TrialSpec gang = Gang(1, 3);
  Open(MakePlan({gang}));
  Register(0, 2);
  Register(1, 2);
  Tick();
  const auto leases = Take<cluster::Lease>();
  ASSERT_EQ(leases.size(), 3U);
  const std::vector<std::pair<int, int>> members = {{0, 0}, {0, 1}, {1, 0}};
  for (std::size_t i = 0; i < leases.size(); ++i) {
    EXPECT_EQ(leases[i].first, members[i].first);
    EXPECT_EQ(leases[i].second.slot, members[i].second);
    EXPECT_EQ(leases[i].second.members, members);
    EXPECT_EQ(leases[i].second.start.gang_rank, static_cast<int>(i));
    EXPECT_EQ(leases[i].second.start.gang_size, 3);
    EXPECT_EQ(leases[i].second.start.gang_host, leases[i].first == 0 ? "node0" : "node1");
  }
}

TEST_F(GangTest, OneHostIsPreferredAndNeedsNoNetwork) {
  const TrialSpec gang = Gang(1, 2);
  Open(MakePlan({gang}));
  Register(0, 1);
  Register(1, 3);
  Register(2, 2);
  Tick();
  EXPECT_THAT(FindSeats(gang), ElementsAre(Seat{WorldRank{2}, 0}, Seat{WorldRank{2}, 1}));
  for (const auto& [rank, lease] : Take<cluster::Lease>()) EXPECT_EQ(lease.start.gang_host, "127.0.0.1");
}

// Containers of one name, each with a network of its own.
TEST_F(GangTest, HostsOfOneNameAreToldApart) {
  const TrialSpec apart = Gang(1, 3), together = Gang(2, 2);
  Open(MakePlan({apart, together}));
  for (int rank = 0; rank < 2; ++rank) {
    cluster::Register message{"node",
                              2,
                              {"cpu", "cpu"},
                              "",
                              "10.0.0." + std::to_string(rank),
                              8,
                              "node/boot/net:[" + std::to_string(rank) + "]"};
    Hear(rank, {{}, {}, 0, message});
  }
  Tick();
  const auto leases = Take<cluster::Lease>();
  ASSERT_EQ(leases.size(), 3U);
  for (const auto& [rank, lease] : leases)
    EXPECT_EQ(lease.start.gang_host, "10.0.0." + std::to_string(rank)) << "loopback reaches one of them only";
  const Device first = core_.fleet.FindDevice({WorldRank{0}, 0}), second = core_.fleet.FindDevice({WorldRank{1}, 0});
  EXPECT_EQ(first.host, "node") << "what people read";
  EXPECT_NE(first, second);
  EXPECT_EQ(core_.fleet.SlotsOn(first), 2);
  Succeed(apart.id);
  Tick();
  ASSERT_EQ(FindSeats(together).size(), 2U);
  EXPECT_EQ(FindSeats(together)[0].rank, FindSeats(together)[1].rank);
}

TEST_F(GangTest, NothingIsPlacedInPart) {
  const TrialSpec gang = Gang(1, 3);
  Open(MakePlan({gang}));
  Register(0, 2);
  Tick();
  EXPECT_TRUE(FindSeats(gang).empty());
  EXPECT_TRUE(Take<cluster::Lease>().empty());
  Register(1, 1);
  Tick();
  EXPECT_EQ(FindSeats(gang).size(), 3U);
}

TEST_F(GangTest, SmallTrialsFillWhatAWaitingGangDoesNotNeed) {
  const TrialSpec early[] = {Gang(1, 1, 9), Gang(2, 1, 9)};
  const TrialSpec gang = Gang(3, 3, 5), second = Gang(4, 1), third = Gang(5, 1);
  Open(MakePlan({early[0], early[1], gang, second, third}));
  Register(0, 3);  // two slots are taken at once, the gang waits for them and keeps the third
  Tick();
  EXPECT_EQ(FindSeats(early[1]).size(), 1U);
  EXPECT_TRUE(FindSeats(gang).empty());
  EXPECT_TRUE(FindSeats(second).empty()) << "it took a slot that the gang needs";
  Register(1, 1);  // too small a host for the gang, and too little together
  Tick();
  EXPECT_THAT(FindSeats(second), ElementsAre(Seat{WorldRank{1}, 0}));
  Succeed(second.id);
  Tick();
  EXPECT_THAT(FindSeats(third), ElementsAre(Seat{WorldRank{1}, 0}));
  for (const TrialSpec& trial : early) Succeed(trial.id);
  Tick();
  EXPECT_EQ(FindSeats(gang).size(), 3U);
}

TEST_F(GangTest, AStreamOfSmallTrialsDoesNotStarveAGang) {
  std::vector<TrialSpec> trials = {Gang(0, 4)};
  for (std::uint64_t seed = 1; seed <= 40; ++seed) trials.push_back(Gang(seed, 1));
  trials[0].execution.priority = -1;  // behind the first of them, which occupy every slot
  for (std::size_t i = 9; i < trials.size(); ++i) trials[i].execution.priority = -2;
  Open(MakePlan(trials));
  Register(0, 4);
  Register(1, 4);
  int small = 0;
  for (Tick(); FindSeats(trials[0]).empty(); Tick(1)) {
    const auto running = core_.fleet.active();
    ASSERT_FALSE(running.empty());
    Succeed(running.begin()->first);
    ASSERT_LE(++small, 12) << "the gang waits while small trials pass it";
  }
}

TEST_F(GangTest, TheAddressOfTheStoreReachesEveryRankOfTheGang) {
  const TrialSpec gang = Gang(1, 3);
  Open(MakePlan({gang}));
  Register(0, 2);
  Register(1, 2);
  Tick();
  TakeMessages();
  SayFrom(0, gang, cluster::GangAddress{"store"});
  const auto ready = Take<cluster::GangReady>();
  ASSERT_EQ(ready.size(), 2U);
  EXPECT_EQ(ready[0].first, 0);
  EXPECT_EQ(ready[1].first, 1);
  EXPECT_EQ(ready[1].second.blob, "store");
}

TEST_F(GangTest, OnlyGangRankZeroSpeaksForTheGang) {
  const TrialSpec gang = Gang(1, 2);
  Open(MakePlan({gang}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  cluster::Ended ended;
  ended.succeeded = true;
  const std::uint64_t stale = core_.counters.stale;
  SayFrom(1, gang, cluster::Progress{5, 10, "train", {}});
  SayFrom(1, gang, cluster::CheckpointCommitted{5, "digest"});
  SayFrom(1, gang, ended);
  SayFrom(1, gang, cluster::GangAddress{"forged"});
  EXPECT_EQ(core_.counters.stale, stale + 4);
  EXPECT_EQ(GetState(gang.id), TrialState::leased);
}

TEST_F(GangTest, AnyMembersEndStopsAllMembersAndFreesTheirSlots) {
  const TrialSpec gang = Gang(1, 2), other = Gang(2, 2);
  Open(MakePlan({gang, other}));
  for (int rank = 0; rank < 4; ++rank) Register(rank, 1);
  Tick();
  SayFrom(0, gang, cluster::Progress{5, 10, "train", {}});
  TakeMessages();
  SayFrom(1, gang, cluster::WorkerLost{FailureKind::worker_crash, "killed"});
  std::vector<int> stopped;
  for (const Outgoing& message : TakeMessages()) {
    const auto* stop = std::get_if<cluster::Stop>(&message.envelope.message);
    if (stop == nullptr) continue;
    EXPECT_FALSE(stop->save);
    EXPECT_EQ(message.envelope.attempt.trial, gang.id);
    stopped.push_back(message.to.value);
  }
  EXPECT_THAT(stopped, ElementsAre(0, 1));
  EXPECT_EQ(GetState(gang.id), TrialState::queued);
  EXPECT_EQ(FindSeats(other).size(), 2U) << "the other gang goes on";
  EXPECT_EQ(core_.fleet.FreeSeats().size(), 2U);
}

TEST_F(GangTest, ALostRankEndsTheGangsThatHaveAMemberThere) {
  const TrialSpec gang = Gang(1, 2);
  Open(MakePlan({gang}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  for (int second = 0; second < 20; ++second) {
    Hear(0, {{}, {}, 0, cluster::Heartbeat{}});
    Tick(1);
  }
  EXPECT_EQ(GetState(gang.id), TrialState::queued);
  EXPECT_EQ(core_.Get(gang.id).failure, FailureKind::agent_lost);
}

// Of two ranks the second falls silent for good.
TEST_F(GangTest, GangWithoutDevicesEndsTheRunSaved) {
  const TrialSpec gang = Gang(1, 2), small = Gang(2, 1);
  Open(MakePlan({gang, small}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  const auto only_rank_0_speaks = [this](double seconds) {
    for (const double end = time_ + seconds; time_ < end;) {
      Hear(0, {{}, {}, 0, cluster::Heartbeat{}});
      Tick(1);
    }
  };
  only_rank_0_speaks(kAgentSilenceSeconds + 1);
  ASSERT_EQ(FindSeats(small).size(), 1U);
  only_rank_0_speaks(2 * kDeadlockSeconds);
  EXPECT_FALSE(core_.stop) << "something runs";
  Succeed(small.id);
  Tick();
  EXPECT_NEAR(FindNextDeadline(core_, now()), time_ + 1, 1) << "silence is looked for each second";
  only_rank_0_speaks(kDeadlockSeconds - 2);
  EXPECT_FALSE(core_.ended);
  only_rank_0_speaks(3);
  EXPECT_TRUE(core_.ended);
  EXPECT_EQ(ChooseSweepExitCode(core_), 75);
  EXPECT_EQ(GetState(gang.id), TrialState::queued);
  ASSERT_TRUE(core_.stop);
  EXPECT_THAT(core_.stop->cause, HasSubstr("needs 2 devices, and 1 is left"));
  EXPECT_EQ(CountJournaled<SweepInterrupted>(), 1);
}

TEST_F(GangTest, AnAgentThatComesBackInTimeGoesOn) {
  const TrialSpec gang = Gang(1, 2);
  Open(MakePlan({gang}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  for (int outage = 0; outage < 3; ++outage) {
    for (double second = 0; second < kAgentSilenceSeconds + kDeadlockSeconds - 5; ++second) {
      Hear(0, {{}, {}, 0, cluster::Heartbeat{}});
      Tick(1);
    }
    ASSERT_EQ(GetState(gang.id), TrialState::queued);
    Pass(10);
    EXPECT_EQ(FindSeats(gang).size(), 2U);
  }
  EXPECT_FALSE(core_.stop);
}

TEST_F(GangTest, TimeInWhichNothingRanAtAllIsNoDeadEnd) {
  const TrialSpec gang = Gang(1, 2);
  Open(MakePlan({gang}));
  Register(0, 1);
  Tick();
  time_ += 10 * kDeadlockSeconds;
  OnWake(core_, now());
  Tick();
  EXPECT_FALSE(core_.stop);
}

TEST_F(GangTest, QuotaOnSmallTrialsLeavesTheBlockedGang) {
  const TrialSpec gang = Gang(1, 2), first = Gang(2, 1), second = Gang(3, 1);
  SweepPlan plan = MakePlan({first, gang, second});
  plan.quota.trials = 1;
  Open(plan);
  Register(0, 1);
  Tick();
  Succeed(first.id);
  Tick();
  Pass(kDeadlockSeconds + 2);
  EXPECT_TRUE(core_.ended);
  EXPECT_EQ(ChooseSweepExitCode(core_), 75);
}

TEST_F(GangTest, MoreDevicesThanThereAreIsAPlanError) {
  const TrialSpec gang = Gang(1, 3);
  Open(MakePlan({gang}));
  Register(0, 1);
  Register(1, 1);
  const Status status = CheckPlaceable(core_);
  EXPECT_EQ(status.code(), StatusCode::usage);
  EXPECT_THAT(status.message(), HasSubstr("devices = 3, but this run has 2 in all"));
  Register(1, 2);
  EXPECT_TRUE(CheckPlaceable(core_).ok());
}

}  // namespace
}  // namespace retort::orchestrator
