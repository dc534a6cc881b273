// Who is to blame when something fails: the trial, the slot, or nobody.
#include <gmock/gmock.h>

#include "orchestrator/progress_text.h"
#include "orchestrator/scheduler.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::PlanOf;
using testing::TrialBuilder;

class QuarantineTest : public OrchestratorTest {
 protected:
  static TrialSpec Single(std::uint64_t seed) {
    return TrialBuilder(seed).Teacher("t" + std::to_string(seed)).Build();
  }
  [[nodiscard]] std::vector<Seat> SeatsOf(const TrialSpec& spec) const {
    const ActiveAttempt* attempt = core_.fleet.Find(spec.id);
    return attempt == nullptr ? std::vector<Seat>() : attempt->seats;
  }
};

TEST_F(QuarantineTest, TheSameTrialFailingInTwoPlacesFailsForGood) {
  const TrialSpec bad = Single(1);
  Open(PlanOf({bad}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  EXPECT_THAT(SeatsOf(bad), ElementsAre(Seat{WorldRank{0}, 0}));
  Fail(bad.id, FailureKind::worker_crash, "SIGSEGV");
  EXPECT_EQ(StateOf(bad.id), TrialState::queued);
  Pass(2);
  EXPECT_THAT(SeatsOf(bad), ElementsAre(Seat{WorldRank{1}, 0})) << "another place tells more";
  Fail(bad.id, FailureKind::internal, "an exception");
  EXPECT_EQ(StateOf(bad.id), TrialState::failed);
  EXPECT_THAT(core_.Get(bad.id).detail, HasSubstr("it failed on slot 0 of rank 0 as well"));
  EXPECT_EQ(core_.fleet.LiveSeats(), 2) << "neither slot is to blame";
}

TEST_F(QuarantineTest, KillsAndLostAgentsBlameNobody) {
  const TrialSpec trial = Single(1);
  Open(PlanOf({trial}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  for (int i = 0; i < 6; ++i) {
    Fail(trial.id, i % 2 == 0 ? FailureKind::worker_killed : FailureKind::gang_broken);
    EXPECT_EQ(StateOf(trial.id), TrialState::queued);
    Pass(10);
  }
  EXPECT_EQ(core_.fleet.LiveSeats(), 2);
}

TEST_F(QuarantineTest, ASlotWhereDifferentTrialsFailIsLeftOutAndReported) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3), fourth = Single(4);
  Open(PlanOf({first, second, third, fourth}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  Fail(first.id, FailureKind::device, "the device is gone");
  Tick();  // the third trial takes the place
  ASSERT_THAT(SeatsOf(third), ElementsAre(Seat{WorldRank{0}, 0}));
  EXPECT_EQ(core_.fleet.LiveSeats(), 2);
  Fail(third.id, FailureKind::device, "the device is gone");
  EXPECT_EQ(core_.fleet.LiveSeats(), 1);
  ASSERT_THAT(core_.drained(), SizeIs(1));
  const std::string text = DrainedText(core_, core_.drained()[0]);
  EXPECT_THAT(text, HasSubstr("slot 0 of rank 0 (node0)"));
  EXPECT_THAT(text, HasSubstr(first.name));
  EXPECT_THAT(text, HasSubstr(third.name));
  // Everything ends on the other slot.
  for (const TrialSpec* trial : {&second, &fourth, &first, &third}) {
    for (int i = 0; i < 20 && SeatsOf(*trial).empty(); ++i) Pass(1);
    ASSERT_THAT(SeatsOf(*trial), ElementsAre(Seat{WorldRank{1}, 0})) << trial->name;
    Succeed(trial->id);
    Tick();
  }
  EXPECT_EQ(core_.CountIn(TrialState::succeeded), 4U);
}

TEST_F(QuarantineTest, ASuccessInBetweenClearsTheSlot) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3), other = Single(4);
  Open(PlanOf({first, other, second, third}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  Fail(first.id, FailureKind::worker_crash);
  Tick();
  Succeed(second.id);
  Tick();
  ASSERT_THAT(SeatsOf(third), ElementsAre(Seat{WorldRank{0}, 0}));
  Fail(third.id, FailureKind::worker_crash);
  EXPECT_EQ(core_.fleet.LiveSeats(), 2);
}

TEST_F(QuarantineTest, TheLastSlotStaysInUse) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3);
  Open(PlanOf({first, second, third}));
  Register(0, 1);
  Tick();
  for (const TrialSpec* trial : {&first, &second}) {
    Fail(trial->id, FailureKind::internal);
    Tick();
  }
  EXPECT_EQ(core_.fleet.LiveSeats(), 1);
  EXPECT_TRUE(core_.drained().empty());
  EXPECT_EQ(SeatsOf(third).size(), 1U);
}

TEST_F(QuarantineTest, AnAgentThatStartsAnewHasItsSlotsBack) {
  const TrialSpec first = Single(1), second = Single(2), third = Single(3);
  Open(PlanOf({first, second, third}));
  Register(0, 1);
  Register(1, 1);
  Tick();
  Fail(first.id, FailureKind::device);
  Tick();
  Fail(third.id, FailureKind::device);
  ASSERT_EQ(core_.fleet.LiveSeats(), 1);
  Register(0, 1);
  EXPECT_EQ(core_.fleet.LiveSeats(), 2);
}

}  // namespace
}  // namespace retort::orchestrator
