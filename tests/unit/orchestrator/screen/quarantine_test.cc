// Who is to blame when something fails: the trial, the slot, or nobody.
#include <gmock/gmock.h>

#include "orchestrator/reactor/scheduler.h"
#include "orchestrator/screen/progress_text.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakePlan;
using ::testing::SizeIs;
using testing::TrialBuilder;

class QuarantineTest : public OrchestratorTest {
 protected:
  static TrialSpec Single(std::uint64_t seed) { return TrialBuilder(seed).Teacher("t" + std::to_string(seed)).Build(); }
  [[nodiscard]] std::vector<Seat> FindSeats(const TrialSpec& spec) const {
    const ActiveAttempt* attempt = core_.fleet.Find(spec.id);
    return attempt == nullptr ? std::vector<Seat>() : attempt->seats;
  }
};

TEST_F(QuarantineTest, TheSameTrialFailingInTwoPlacesFailsForGood) {
  const TrialSpec bad = Single(1);
  Open(MakePlan({bad}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  EXPECT_THAT(FindSeats(bad), ElementsAre(Seat{WorldRank{0}, 0}));
  Fail(bad.id, FailureKind::worker_crash, "SIGSEGV");
  EXPECT_EQ(GetState(bad.id), TrialState::queued);
  Pass(2);
  EXPECT_THAT(FindSeats(bad), ElementsAre(Seat{WorldRank{1}, 0})) << "another place tells more";
  Fail(bad.id, FailureKind::internal, "an exception");
  EXPECT_EQ(GetState(bad.id), TrialState::failed);
  EXPECT_THAT(core_.Get(bad.id).detail, HasSubstr("it failed on slot 0 of rank 0 as well"));
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 2) << "neither slot is to blame";
}

TEST_F(QuarantineTest, KillsAndLostAgentsBlameNobody) {
  const TrialSpec trial = Single(1);
  Open(MakePlan({trial}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  for (int i = 0; i < 6; ++i) {
    Fail(trial.id, i % 2 == 0 ? FailureKind::worker_killed : FailureKind::gang_broken);
    EXPECT_EQ(GetState(trial.id), TrialState::queued);
    Pass(10);
  }
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 2);
}

TEST_F(QuarantineTest, ASlotWhereDifferentTrialsFailIsLeftOutAndReported) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3), fourth = Single(4);
  Open(MakePlan({first, second, third, fourth}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  Fail(first.id, FailureKind::device, "the device is gone");
  Tick();  // the third trial takes the place
  ASSERT_THAT(FindSeats(third), ElementsAre(Seat{WorldRank{0}, 0}));
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 2);
  Fail(third.id, FailureKind::device, "the device is gone");
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 1);
  ASSERT_THAT(core_.drained(), SizeIs(1));
  const std::string text = FormatSlotDrained(core_, core_.drained()[0]);
  EXPECT_THAT(text, HasSubstr("slot 0 of rank 0 (node0)"));
  EXPECT_THAT(text, HasSubstr(first.name));
  EXPECT_THAT(text, HasSubstr(third.name));
  // Everything ends on the other slot.
  for (const TrialSpec* trial : {&second, &fourth, &first, &third}) {
    for (int i = 0; i < 20 && FindSeats(*trial).empty(); ++i) Pass(1);
    ASSERT_THAT(FindSeats(*trial), ElementsAre(Seat{WorldRank{1}, 0})) << trial->name;
    Succeed(trial->id);
    Tick();
  }
  EXPECT_EQ(core_.CountIn(TrialState::succeeded), 4U);
}

TEST_F(QuarantineTest, ASuccessInBetweenClearsTheSlot) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3), other = Single(4);
  Open(MakePlan({first, other, second, third}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  Fail(first.id, FailureKind::worker_crash);
  Tick();
  Succeed(second.id);
  Tick();
  ASSERT_THAT(FindSeats(third), ElementsAre(Seat{WorldRank{0}, 0}));
  Fail(third.id, FailureKind::worker_crash);
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 2);
}

TEST_F(QuarantineTest, TheLastSlotStaysInUse) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3);
  Open(MakePlan({first, second, third}));
  Register(0, 1);
  Tick();
  for (const TrialSpec* trial : {&first, &second}) {
    Fail(trial->id, FailureKind::internal);
    Tick();
  }
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 1);
  EXPECT_TRUE(core_.drained().empty());
  EXPECT_EQ(FindSeats(third).size(), 1U);
}

TEST_F(QuarantineTest, ABadStretchOfThePlanCostsNoSlotInTheEnd) {
  constexpr int kSlots = 8, kBad = 16, kGood = 40;
  std::vector<TrialSpec> trials;
  for (std::uint64_t seed = 0; seed < kBad + kGood; ++seed) trials.push_back(Single(seed));
  Open(MakePlan(trials));
  Register(0, kSlots);
  Tick();
  for (int turn = 0; turn < 400 && !core_.AllFinal(); ++turn) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (core_.fleet.Find(trials[i].id) == nullptr) continue;
      if (i < kBad)
        Fail(trials[i].id, FailureKind::out_of_memory);
      else if (turn % 3 == 0)
        Succeed(trials[i].id);
    }
    Pass(1);
  }
  EXPECT_EQ(core_.CountIn(TrialState::failed), static_cast<std::size_t>(kBad));
  EXPECT_EQ(core_.CountIn(TrialState::succeeded), static_cast<std::size_t>(kGood));
  EXPECT_EQ(core_.fleet.CountLiveSlots(), kSlots);
  EXPECT_TRUE(core_.drained().empty());
}

TEST_F(QuarantineTest, ASlotIsUsedAgainOnceItsTrialsFailElsewhere) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3);
  Open(MakePlan({first, second, third}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  Fail(first.id, FailureKind::worker_crash);
  Tick();
  ASSERT_THAT(FindSeats(third), ElementsAre(Seat{WorldRank{0}, 0}));
  Fail(third.id, FailureKind::worker_crash);
  ASSERT_EQ(core_.fleet.CountLiveSlots(), 1);
  Succeed(second.id);
  for (int i = 0; i < 20 && FindSeats(first).empty(); ++i) Pass(1);
  ASSERT_THAT(FindSeats(first), ElementsAre(Seat{WorldRank{1}, 0}));
  Fail(first.id, FailureKind::worker_crash);
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 2);
  EXPECT_EQ(CountJournaled<SlotRestored>(), 1);
  EXPECT_TRUE(core_.drained().empty());
}

TEST_F(QuarantineTest, SlotsThatAGangNeedsStayInUse) {
  const TrialSpec first = Single(1), second = Single(2), gang = TrialBuilder(9).Devices(2).Priority(-1).Build();
  Open(MakePlan({first, second, gang}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  Fail(first.id, FailureKind::device);
  Fail(second.id, FailureKind::device);
  for (int i = 0; i < 60 && !core_.AllFinal(); ++i) {
    for (const TrialSpec* bad : {&first, &second})
      if (!FindSeats(*bad).empty()) Fail(bad->id, FailureKind::device);
    if (!FindSeats(gang).empty()) Succeed(gang.id);
    Pass(1);
  }
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 2);
  EXPECT_EQ(GetState(gang.id), TrialState::succeeded);
}

TEST_F(QuarantineTest, AGangsFailureSpeaksOfTheMemberThatFailed) {
  std::vector<TrialSpec> gangs;
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    gangs.push_back(TrialBuilder(seed).Teacher("t" + std::to_string(seed)).Devices(2).Build());
  Open(MakePlan(gangs));
  for (int rank = 0; rank < 3; ++rank) Register(rank, 1);
  Tick();
  for (const TrialSpec& gang : gangs) {
    for (int i = 0; i < 20 && FindSeats(gang).empty(); ++i) Pass(1);
    ASSERT_THAT(FindSeats(gang), ElementsAre(Seat{WorldRank{0}, 0}, Seat{WorldRank{1}, 0}));
    const ActiveAttempt* attempt = core_.fleet.Find(gang.id);
    Hear(1, {attempt->id, attempt->generation, 0, cluster::WorkerLost{FailureKind::device, "ECC"}});
    Tick();
  }
  ASSERT_THAT(core_.drained(), SizeIs(1));
  EXPECT_EQ(core_.drained()[0].rank, 1) << "gang rank 0 sat elsewhere and is well";
}

TEST_F(QuarantineTest, AHangOfAGangSpeaksOfNoSlot) {
  const TrialSpec gang = TrialBuilder(1).Devices(2).Build();
  Open(MakePlan({gang}));
  Register(0, 1);
  Register(1, 1);
  for (int i = 0; i < 2; ++i) {
    for (int k = 0; k < 20 && FindSeats(gang).empty(); ++k) Pass(1);
    const ActiveAttempt* attempt = core_.fleet.Find(gang.id);
    ASSERT_NE(attempt, nullptr);
    Hear(i, {attempt->id, attempt->generation, 0, cluster::WorkerLost{FailureKind::worker_hang, "silent"}});
  }
  EXPECT_EQ(GetState(gang.id), TrialState::queued) << "two places, but nobody knows which member hung";
}

TEST_F(QuarantineTest, AnAgentThatStartsAnewHasItsSlotsBack) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3);
  Open(MakePlan({first, second, third}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  Fail(first.id, FailureKind::device);
  Tick();
  Fail(third.id, FailureKind::device);
  ASSERT_EQ(core_.fleet.CountLiveSlots(), 1);
  Register(0, 1);
  EXPECT_EQ(core_.fleet.CountLiveSlots(), 2);
}

}  // namespace
}  // namespace retort::orchestrator
