#include "orchestrator/reactor/amendment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using ::testing::ElementsAre;
using testing::FamilyPlan;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakePlan;
using ::testing::SizeIs;
using testing::TrialBuilder;

class LiveAmendmentTest : public OrchestratorTest {
 protected:
  void Start(const SweepPlan& plan, int slots = 1) {
    plan_ = plan;
    Open(plan_);
    Register(0, slots);
    Tick();
    TakeMessages();
  }
  [[nodiscard]] TrialId Id(std::size_t index) const { return plan_.trials[index].id; }
  void Ask(Amendment amendment, const std::vector<TrialId>& trials, const std::string& name = "1") {
    AmendRequest request{amendment, core_.sweep(), {}};
    for (const TrialId id : trials) request.trials.push_back({id, core_.Get(id).attempts});
    Put(request, name);
  }
  void Put(const AmendRequest& request, const std::string& name = "1") {
    OnAmendRequest(core_, name, request, 10, now(), outbox_);
    const Status legal = core_.CheckInvariants();
    EXPECT_TRUE(legal.ok()) << legal.message();
  }
  AmendAnswer Answer() {
    EXPECT_THAT(outbox_.answers, SizeIs(1));
    AmendAnswer answer = outbox_.answers.empty() ? AmendAnswer() : outbox_.answers.front().answer;
    outbox_.answers.clear();
    return answer;
  }
  void Stopped(TrialId trial) { Fail(trial, FailureKind::stopped, "saved"); }
  SweepPlan plan_;
};

TEST_F(LiveAmendmentTest, TrialOnADeviceIsSavedAndThenCancelled) {
  Start(FamilyPlan(1, 2));
  Say(Id(0), cluster::Progress{1, 10, "train", {}});
  Ask(Amendment::cancel, {Id(0)});
  EXPECT_EQ(Answer().kind, AnswerKind::saving);
  const auto stops = Take<cluster::Stop>();
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_TRUE(stops[0].second.save);
  EXPECT_EQ(stops[0].second.deadline_seconds, 10);
  Tick(1);
  EXPECT_EQ(GetState(Id(0)), TrialState::running) << "until its state is saved";
  EXPECT_EQ(CountJournaled<TrialCancelled>(), 0);
  Stopped(Id(0));
  Tick();
  EXPECT_EQ(GetState(Id(0)), TrialState::cancelled);
  EXPECT_EQ(GetState(Id(2)), TrialState::parent_failed);
  EXPECT_THAT(Answer().changed, ElementsAre(Id(0), Id(1), Id(2)));
  EXPECT_THAT(core_.cancels, IsEmpty());
  EXPECT_TRUE(core_.ended) << "nothing is left to run";
}

TEST_F(LiveAmendmentTest, NothingIsLeasedBetweenStopAndCancel) {
  Start(FamilyPlan(2, 0));
  Ask(Amendment::cancel, {Id(0)});
  TakeMessages();
  Stopped(Id(0));
  Tick();
  EXPECT_THAT(Take<cluster::Lease>(), SizeIs(1));
  EXPECT_EQ(GetState(Id(1)), TrialState::leased) << "its device is free for the next one";
  EXPECT_EQ(core_.Get(Id(0)).attempts, 1U);
}

TEST_F(LiveAmendmentTest, SuccessThatComesFirstStands) {
  Start(FamilyPlan(1, 0));
  Ask(Amendment::cancel, {Id(0)});
  (void)Answer();
  Succeed(Id(0));
  Tick();
  EXPECT_EQ(GetState(Id(0)), TrialState::succeeded);
  const AmendAnswer answer = Answer();
  EXPECT_EQ(answer.kind, AnswerKind::done);
  EXPECT_THAT(answer.changed, IsEmpty());
  EXPECT_THAT(answer.text, HasSubstr("has succeeded"));
}

TEST_F(LiveAmendmentTest, ACrashWhileItSavesIsNotTriedAgain) {
  Start(FamilyPlan(1, 0));
  Ask(Amendment::cancel, {Id(0)});
  (void)Answer();
  Hear(0, {core_.fleet.Find(Id(0))->id, core_.fleet.Find(Id(0))->generation, 0,
           cluster::WorkerLost{FailureKind::worker_killed, "killed"}});
  Tick();
  EXPECT_EQ(GetState(Id(0)), TrialState::cancelled);
  EXPECT_EQ(Answer().kind, AnswerKind::done);
}

TEST_F(LiveAmendmentTest, EveryMemberOfAGangIsToldOnce) {
  plan_ = MakePlan({TrialBuilder(1).Teacher("t").Devices(2).Build()});
  Open(plan_);
  Register(0, 1);
  Register(1, 1);
  Tick();
  TakeMessages();
  Ask(Amendment::cancel, {Id(0)}, "1");
  Ask(Amendment::cancel, {Id(0)}, "2");
  EXPECT_THAT(Take<cluster::Stop>(), SizeIs(2)) << "one for each of two ranks, though it was asked twice";
  outbox_.answers.clear();
  Stopped(Id(0));
  Tick();
  ASSERT_THAT(outbox_.answers, SizeIs(2));
  EXPECT_EQ(outbox_.answers[1].request, "2");
  EXPECT_EQ(CountJournaled<TrialCancelled>(), 1);
}

TEST_F(LiveAmendmentTest, RetryIsLeasedInTheSameRun) {
  Start(FamilyPlan(2, 0));
  Fail(Id(0), FailureKind::not_finite);
  Tick();
  ASSERT_EQ(GetState(Id(0)), TrialState::failed);
  Ask(Amendment::retry, {Id(0)});
  EXPECT_THAT(Answer().changed, ElementsAre(Id(0)));
  Succeed(Id(1));
  Tick();
  EXPECT_EQ(GetState(Id(0)), TrialState::leased);
  EXPECT_EQ(core_.Get(Id(0)).attempts, 2U);
}

TEST_F(LiveAmendmentTest, RetryOfWhatTheRunHasTooFewDevicesForIsRefused) {
  const SweepPlan plan =
      MakePlan({TrialBuilder(1).Teacher("t").Devices(2).Build(), TrialBuilder(2).Teacher("u").Build()});
  Start(plan);
  Ask(Amendment::cancel, {Id(0)});
  (void)Answer();
  ASSERT_EQ(GetState(Id(0)), TrialState::cancelled);
  Register(1, 1);
  Ask(Amendment::retry, {Id(0)});
  EXPECT_EQ(Answer().kind, AnswerKind::done) << "two ranks with a device each";
  Ask(Amendment::cancel, {Id(0)});
  (void)Answer();
  core_.fleet.Drain({WorldRank{1}, 0});
  Ask(Amendment::retry, {Id(0)});
  const AmendAnswer answer = Answer();
  EXPECT_EQ(answer.kind, AnswerKind::refused);
  EXPECT_THAT(answer.text, HasSubstr("needs 2 devices at once, and this run has 1 besides 1 where trials failed"));
  EXPECT_THAT(answer.text, HasSubstr("--slots"));
  EXPECT_EQ(GetState(Id(0)), TrialState::cancelled);
}

TEST_F(LiveAmendmentTest, RetryOfATeacherCountsTheStudentsThatComeBackWithIt) {
  SweepPlan plan = FamilyPlan(1, 1);
  plan.trials[1].devices = 3;
  Start(plan, 2);
  Register(1, 0);
  Fail(Id(0), FailureKind::not_finite);
  Tick();
  ASSERT_EQ(GetState(Id(1)), TrialState::parent_failed);
  Ask(Amendment::retry, {Id(0)});
  EXPECT_THAT(Answer().text, HasSubstr("needs 3 devices at once, and this run has 2:"));
}

TEST_F(LiveAmendmentTest, TheSameRetryTwiceTriesOnce) {
  Start(FamilyPlan(2, 0));
  Fail(Id(0), FailureKind::not_finite);
  Tick();
  const AmendRequest request{Amendment::retry, core_.sweep(), {{Id(0), 1}}};
  Put(request);
  EXPECT_THAT(Answer().changed, SizeIs(1));
  Succeed(Id(1));
  Tick();
  Fail(Id(0), FailureKind::not_finite);
  Tick();
  ASSERT_EQ(GetState(Id(0)), TrialState::failed);
  Put(request);
  const AmendAnswer again = Answer();
  EXPECT_THAT(again.changed, IsEmpty());
  EXPECT_THAT(again.text, HasSubstr("tried again since"));
  EXPECT_EQ(GetState(Id(0)), TrialState::failed);
}

TEST_F(LiveAmendmentTest, WhatDoesNotFitIsRefusedByName) {
  Start(FamilyPlan(2, 0), 2);
  Put({Amendment::cancel, "another", {{Id(0), 0}}});
  EXPECT_THAT(Answer().text, HasSubstr("for sweep 'another'"));
  Put({Amendment::cancel, core_.sweep(), {{TrialId(5), 0}}});
  EXPECT_THAT(Answer().text, HasSubstr("0000000000000005 is not in the sweep"));
  Succeed(Id(0));
  Tick();
  TakeMessages();
  Ask(Amendment::cancel, {Id(1), Id(0)});
  EXPECT_EQ(Answer().kind, AnswerKind::refused);
  EXPECT_THAT(Take<cluster::Stop>(), IsEmpty()) << "all or none";
  Ask(Amendment::cancel, {Id(1)}, "2");
  (void)Answer();
  Ask(Amendment::retry, {Id(1)}, "3");
  EXPECT_THAT(Answer().text, HasSubstr("is saving its state"));
}

}  // namespace
}  // namespace retort::orchestrator
