// A claim follows from the ledger and from what the worker recorded of the trial's structure: what is not
// recorded is not true.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

// The reason of the claim when `fact` was not recorded; empty where the claim is proven all the same.
std::string Without(const TrialSpec& spec, std::string_view fact, const Relation& relation) {
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  for (PrivacyEvent& event : events) std::erase(event.facts, fact);
  const std::vector<Claim> claims = ComputeClaims({&spec, {}}, events);
  const Claim* claim = Find(claims, relation.adjacency, relation.neighbour);
  EXPECT_NE(claim, nullptr);
  if (claim == nullptr || claim->status == ClaimStatus::proven) return "";
  EXPECT_FALSE(DescribeReason(claim->reason).ends_with(claim->reason)) << claim->reason << " has no sentence";
  return claim->reason;
}

TEST(Facts, PlannedTrialsHaveAllTheyNeed) {
  for (const TrialSpec& spec : {GradientStudent(Reading::working), GradientStudent(Reading::printed), VoteStudent(),
                                DpSgd(Role::student), DpSgd(Role::teacher)}) {
    const std::vector<PrivacyEvent> events = PlanEvents(spec).value();
    for (const PrivacyEvent& event : events) {
      EXPECT_EQ(event.facts, ListNeededFacts(event.kind));
      EXPECT_FALSE(event.facts.empty());
      EXPECT_TRUE(std::is_sorted(event.facts.begin(), event.facts.end()));
    }
  }
}

TEST(Facts, GeneratorOfUnknownDriverLeavesOnlyTheSingleAnswers) {
  const TrialSpec spec = GradientStudent(Reading::working);
  for (const Relation& relation : {kTeacher, kExample})
    EXPECT_EQ(Without(spec, kFactStudentDrivesGenerator, relation), reason::kUnrecordedDriver);
  for (const Relation& relation : {kAnswer, kSlot}) EXPECT_EQ(Without(spec, kFactStudentDrivesGenerator, relation), "");
  EXPECT_EQ(Without(VoteStudent(), kFactStudentDrivesGenerator, kMember), reason::kUnrecordedDriver);
}

TEST(Facts, AnswersThatAreNotKnownToBeDetachedLeaveNothing) {
  for (const Relation& relation : {kAnswer, kSlot, kTeacher, kExample})
    EXPECT_EQ(Without(GradientStudent(Reading::working), kFactDetachedTarget, relation), reason::kUnrecordedDetachment);
  EXPECT_EQ(Without(VoteStudent(), kFactDetachedTarget, kMember), reason::kUnrecordedDetachment);
}

TEST(Facts, PossiblyOverlappingShardsProtectMembersOnly) {
  EXPECT_EQ(Without(VoteStudent(), kFactDisjointShards, kExample), reason::kUnrecordedShards);
  for (const Relation& relation : {kMember, kZeroedMember, kAnswer})
    EXPECT_EQ(Without(VoteStudent(), kFactDisjointShards, relation), "");
}

TEST(Facts, MembersTrainedTogetherProtectNobody) {
  for (const Relation& relation : {kMember, kZeroedMember, kExample})
    EXPECT_EQ(Without(VoteStudent(), kFactIndependentMembers, relation), reason::kUnrecordedApart);
  EXPECT_EQ(Without(VoteStudent(), kFactIndependentMembers, kAnswer), "");
}

TEST(Facts, NetworkThatMayMixExamplesHasNoDpSgdClaim) {
  for (const Role role : {Role::student, Role::teacher}) {
    for (const Relation& relation : {kExample, kExampleAdded})
      EXPECT_EQ(Without(DpSgd(role), kFactNoBatchNorm, relation), reason::kUnrecordedBatchNorm);
  }
}

TEST(Facts, AugmentationAcrossExamplesVoidsDpSgdClaims) {
  for (const Role role : {Role::student, Role::teacher}) {
    TrialSpec spec = DpSgd(role);
    for (const Relation& relation : {kExample, kExampleAdded}) {
      spec.inputs.augment = Augment::none;
      EXPECT_EQ(Without(spec, kFactPerExampleAugmentation, relation), "");
      spec.inputs.augment = Augment::affine;
      EXPECT_EQ(Without(spec, kFactNoBatchNorm, relation), reason::kUnrecordedBatchNorm);
      EXPECT_EQ(Without(spec, kFactPerExampleAugmentation, relation), reason::kUnrecordedAugmentation);
    }
    const std::vector<std::string> facts = PlanEvents(spec).value().front().facts;
    EXPECT_TRUE(std::is_sorted(facts.begin(), facts.end()));
    for (const Claim& claim : PlannedClaims(spec)) EXPECT_NE(claim.reason, reason::kUnrecordedAugmentation);
  }
}

TEST(Facts, TotalOfADataSetIsInfiniteWithoutThem) {
  for (const TrialSpec& spec : {GradientStudent(Reading::working), VoteStudent(), DpSgd(Role::student)}) {
    std::vector<PrivacyEvent> events = PlanEvents(spec).value();
    EXPECT_TRUE(std::isfinite(ComputeTotalEpsilon({events}, 1e-5)));
    events.front().facts.pop_back();
    EXPECT_FALSE(std::isfinite(ComputeTotalEpsilon({events}, 1e-5)));
  }
}

TEST(Facts, OneBatchOfEventsWithoutThemSpoilsTheTrial) {
  const TrialSpec spec = VoteStudent();
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  events.push_back(events.front());
  events.back().facts.clear();
  const std::vector<Claim> claims = ComputeClaims({&spec, {}}, events);
  EXPECT_EQ(Find(claims, Adjacency::example, Neighbour::replace)->status, ClaimStatus::unbounded);
}

TEST(Facts, AreInTheEncodingAndMayBeAbsentFromIt) {
  PrivacyEvent event = PlanEvents(VoteStudent()).value().front();
  EXPECT_EQ(DecodeEvent(EncodeEvent(event)).value().facts, event.facts);
  PrivacyEvent other = event;
  other.facts.clear();
  EXPECT_FALSE(other.SameMechanism(event));
  const std::string old = EncodeEvent(other);
  EXPECT_EQ(old.find("facts"), std::string::npos);
  EXPECT_TRUE(DecodeEvent(old).value().facts.empty());
}

TEST(Selection, ByTheTestSplitIsNamedInEveryProvenClaim) {
  TrialSpec spec = VoteStudent();
  spec.stop.metric = StopMetric::accuracy;
  for (const Claim& claim : PlannedClaims(spec)) {
    if (claim.status != ClaimStatus::proven) continue;
    EXPECT_EQ(claim.assumptions.back(), kSelectedOnTest);
  }
  spec.stop.metric = StopMetric::loss;
  for (const Claim& claim : PlannedClaims(spec))
    EXPECT_EQ(std::count(claim.assumptions.begin(), claim.assumptions.end(), kSelectedOnTest), 0);
}

}  // namespace
}  // namespace retort::privacy
