// What may be said of the students of a teacher that came from a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/calibration.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "experiments/privacy/statement.h"
#include "tests/unit/experiments/privacy/numbers.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

using Adj = Adjacency;
using Nb = Neighbour;

std::vector<Claim> FileClaims() { return PlannedClaims(Teacher("loaded")); }

// The events of a student whose worker saw where the teacher was from.
std::vector<PrivacyEvent> EventsOfAFilesStudent(const TrialSpec& spec) {
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  for (PrivacyEvent& event : events) event.voids.emplace_back(kVoidLoadedWeights);
  return events;
}

void ExpectNothingOfExamples(const std::vector<Claim>& claims) {
  int seen = 0;
  for (const Claim& claim : claims) {
    const bool rests = claim.adjacency == Adj::example || claim.adjacency == Adj::member;
    if (!rests || claim.status == ClaimStatus::paper_formula) continue;
    EXPECT_EQ(claim.epsilon, kInfinity);
    EXPECT_EQ(claim.status, ClaimStatus::unbounded);
    EXPECT_EQ(claim.reason, "loaded-weights");
    ++seen;
  }
  EXPECT_GT(seen, 0) << "silence is no answer";
}

TEST(LoadedTeacher, ItsOwnClaimSaysWhy) {
  ExpectNothingOfExamples(FileClaims());
  EXPECT_THAT(std::string(DescribeReason(reason::kLoadedWeights)), ::testing::HasSubstr("came from a file"));
  EXPECT_EQ(reason::kLoadedWeights, kVoidLoadedWeights) << "one name for the reason and for what causes it";
}

TEST(LoadedTeacher, StudentsClaimNothingOfExamples) {
  for (const Reading reading : {Reading::working, Reading::stated, Reading::printed, Reading::row_averaged}) {
    const TrialSpec spec = GradientStudent(reading);
    const std::vector<Claim> loaded = PlannedClaims(spec, FileClaims());
    const std::vector<Claim> plain = PlannedClaims(spec, PlannedClaims(Teacher("plain")));
    ExpectNothingOfExamples(loaded);
    for (const Relation& relation : {kAnswer, kSlot, kTeacher}) {
      const Claim* one = Find(loaded, relation.adjacency, relation.neighbour);
      const Claim* other = Find(plain, relation.adjacency, relation.neighbour);
      ASSERT_NE(one, nullptr);
      EXPECT_EQ(*one, *other) << GetAdjacencyName(relation.adjacency);
      EXPECT_EQ(one->status, ClaimStatus::proven);
    }
    ASSERT_NE(Find(plain, Adj::example, Nb::replace), nullptr);
    EXPECT_LT(Find(plain, Adj::example, Nb::replace)->epsilon, kInfinity)
        << "a teacher that was trained here keeps the claim that its answers imply";
    ASSERT_NE(FindPaper(loaded), nullptr);
    EXPECT_EQ(FindPaper(loaded)->epsilon, FindPaper(plain)->epsilon);
  }
}

TEST(LoadedTeacher, TheLedgerAloneTells) {
  const TrialSpec spec = GradientStudent(Reading::row_averaged);
  const std::vector<Claim> claims = ComputeClaims({&spec, {}}, EventsOfAFilesStudent(spec));
  ExpectNothingOfExamples(claims);
  EXPECT_LT(Find(claims, Adj::teacher, Nb::replace)->epsilon, kInfinity);
}

TEST(LoadedTeacher, OneSuchReleaseAmongManyIsEnough) {
  const TrialSpec spec = GradientStudent(Reading::row_averaged);
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  events.push_back(EventsOfAFilesStudent(spec).front());
  events.back().count = 1;
  ExpectNothingOfExamples(ComputeClaims({&spec, {}}, events));
}

// A record of private training that does not belong to the file is not believed.
TEST(LoadedTeacher, NothingIsInheritedPastTheLedger) {
  for (const Reading reading : {Reading::row_averaged, Reading::sound}) {
    const TrialSpec spec = GradientStudent(reading);
    ExpectNothingOfExamples(ComputeClaims({&spec, PlannedClaims(DpSgd(Role::teacher))}, EventsOfAFilesStudent(spec)));
  }
}

TEST(LoadedTeacher, VotesOfWhatCameFromAFileBoundNoExampleAndNoMember) {
  const TrialSpec spec = VoteStudent();
  const std::vector<Claim> claims = ComputeClaims({&spec, {}}, EventsOfAFilesStudent(spec));
  ExpectNothingOfExamples(claims);
  EXPECT_LT(Find(claims, Adj::answer, Nb::answer)->epsilon, kInfinity);
}

TEST(LoadedTeacher, ReleasesCostTheDataMoreThanAnyBudget) {
  const TrialSpec spec = GradientStudent(Reading::row_averaged);
  const ClaimContext context{&spec, FileClaims()};
  const std::vector<PrivacyEvent> events = EventsOfAFilesStudent(spec);
  const std::vector<PrivacyEvent> charged = ComputeChargedEvents(context, events);
  ASSERT_EQ(charged.size(), events.size());
  EXPECT_EQ(ComputeTotalEpsilon({charged}, 1e-5), kInfinity);
  EXPECT_TRUE(FindTotalAboveBudget({charged}, Budget{1e6, 0.5}).has_value());
  EXPECT_LT(ComputeTotalEpsilon({PlanEvents(spec).value()}, 1e-5), kInfinity) << "without the mark it would pass";
}

TEST(LoadedTeacher, SeededNoiseIsNamedFirst) {
  TrialSpec spec = GradientStudent(Reading::working);
  spec.noise = NoiseMode::seeded;
  for (const Claim& claim : PlannedClaims(spec, FileClaims())) EXPECT_EQ(claim.reason, "seeded-noise");
}

TEST(LoadedTeacher, ItReleasesNothingItselfAndCannotBeCalibrated) {
  EXPECT_TRUE(PlanEvents(Teacher("loaded")).value().empty());
  TrialSpec spec = Calibrated(Teacher("loaded"), ClaimTarget::example, 3);
  EXPECT_THAT(CalibrateTrial(spec).message(), ::testing::HasSubstr("not trained here"));
}

TEST(LoadedTeacher, TheStatementSaysItInWords) {
  const TrialSpec spec = GradientStudent(Reading::working);
  const std::vector<PrivacyEvent> events = EventsOfAFilesStudent(spec);
  EXPECT_THAT(WriteTrialStatement(spec, ComputeClaims({&spec, FileClaims()}, events), events),
              ::testing::HasSubstr("No finite epsilon holds for one training example. The teacher came from a file"));
}

}  // namespace
}  // namespace retort::privacy
