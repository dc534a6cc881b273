// Votes behind a threshold: what is planned, claimed and solved for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/privacy/accountants/vote_costs.h"
#include "experiments/privacy/calculator.h"
#include "experiments/privacy/calibration.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;

TrialSpec Confident() {
  TrialSpec spec = VoteStudent();
  spec.method = "pate";
  spec.labels.vote_label = VoteLabel::argmax;
  spec.queries = 640;
  spec.release.vote_threshold = 200;
  spec.release.threshold_noise = 150;
  spec.release.answers = 286;
  return spec;
}

TrialSpec Tested() {
  TrialSpec spec = Confident();
  spec.release.vote_cost = 0.65;
  spec.release.cost_noise = 16;
  return spec;
}

std::vector<PrivacyEvent> Planned(const TrialSpec& spec) { return PlanEvents(spec).value(); }

Bound ComputeBound(const Relation& relation, const std::vector<PrivacyEvent>& events) {
  return ComputeRelationBound(relation, events, 1e-5, nullptr);
}

double ComputeSpecEpsilon(const TrialSpec& spec, Adjacency adjacency = Adjacency::example) {
  for (const Claim& claim : ComputeClaims({&spec, {}}, Planned(spec)))
    if (claim.adjacency == adjacency && claim.neighbour != Neighbour::zero_out) return claim.epsilon;
  return -1;
}

TEST(ConfidentVotes, EveryQueryPaysTheThresholdAndTheMostTheAnswer) {
  const std::vector<PrivacyEvent> events = Planned(Confident());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, MechanismKind::vote_threshold);
  EXPECT_EQ(events[0].count, 640);
  EXPECT_EQ(events[1].kind, MechanismKind::noisy_votes);
  EXPECT_EQ(events[1].count, 286);
  const double mu = std::sqrt(640 / (150.0 * 150) + 2 * 286 / (40.0 * 40));
  const Composition sum = ComposeEvents(kMember, events);
  EXPECT_NEAR(ComputeComposedMu(sum.gaussian), mu, 1e-12);
  EXPECT_EQ(ComputeSpecEpsilon(Confident()), RoundEpsilonUp(ComputeGaussianEpsilon(1e-5, mu)));
  TrialSpec all = Confident();
  all.release.answers = 0;
  EXPECT_EQ(Planned(all)[1].count, 640);
}

TEST(ConfidentVotes, OneAnswerHasItsThresholdBeforeIt) {
  const std::vector<PrivacyEvent> events = Planned(Confident());
  const double mu = std::sqrt(1 / (150.0 * 150) + 2 / (40.0 * 40));
  EXPECT_EQ(ComputeBound(kAnswer, events).epsilon, RoundEpsilonUp(ComputeGaussianEpsilon(1e-5, mu)));
  EXPECT_GT(ComputeBound(kAnswer, events).epsilon, ComputeBound(kAnswer, {events[1]}).epsilon - 1e-9);
  EXPECT_GT(ComputeBound(kAnswer, {events[0]}).epsilon, 0) << "a threshold alone";
}

TEST(ConfidentVotes, ThresholdThatIsNotPaidIsCaught) {
  const std::vector<PrivacyEvent> events = Planned(Confident());
  EXPECT_GT(ComputeBound(kMember, events).epsilon, ComputeBound(kMember, {events[1]}).epsilon);
  PrivacyEvent halved = events[0];
  halved.sensitivity = 0.5;
  EXPECT_EQ(ComputeBound(kMember, {halved}).reason, reason::kBadEvent);
}

TEST(ConfidentVotes, NeedWhatOtherVotesNeed) {
  for (PrivacyEvent event : Planned(Tested())) {
    EXPECT_EQ(event.facts, ListNeededFacts(MechanismKind::noisy_votes));
    event.facts.clear();
    EXPECT_EQ(FindMissingFact(event, kExample), "unrecorded-detached-target");
    event.source = NoiseSource::seeded;
    EXPECT_EQ(FindEventProblem(event), reason::kSeededNoise);
  }
}

TEST(ConfidentVotes, EventsRoundTrip) {
  for (const PrivacyEvent& event : Planned(Tested())) {
    const PrivacyEvent again = DecodeEvent(EncodeEvent(event)).value();
    EXPECT_TRUE(again.SameMechanism(event)) << EncodeEvent(again);
    EXPECT_EQ(again.count, event.count);
  }
}

TEST(ConfidentVotes, ALostAttemptMayGiveAsManyAnswersAgain) {
  TrialSpec spec = Confident();
  spec.execution.retries = 1;
  spec.execution.reserve_block = 1;
  const std::vector<PrivacyEvent> events = PlanEventsWithRetries(spec).value();
  EXPECT_EQ(events[0].count, 640 + 256);
  EXPECT_EQ(events[1].count, 2 * 286);
}

TEST(ConfidentVotes, NoiseAndQueriesAreSolvedFor) {
  TrialSpec spec = Confident();
  spec.privacy.claim = ClaimTarget::example;
  spec.privacy.epsilon = 2;
  spec.privacy.calibrate = Calibrate::noise;
  ASSERT_TRUE(CalibrateTrial(spec).ok());
  EXPECT_LE(ComputeSpecEpsilon(spec), 2);
  spec.release.vote_noise *= 0.999;
  EXPECT_GT(ComputeSpecEpsilon(spec), 2);

  spec.release.vote_noise = 60;
  spec.privacy.calibrate = Calibrate::steps;
  ASSERT_TRUE(CalibrateTrial(spec).ok());
  EXPECT_LE(ComputeSpecEpsilon(spec), 2);
  ++spec.queries;
  EXPECT_GT(ComputeSpecEpsilon(spec), 2);

  spec.release.threshold_noise = 5;
  spec.queries = 640;
  spec.privacy.calibrate = Calibrate::noise;
  EXPECT_THAT(CalibrateTrial(spec).message(), HasSubstr("thresholds alone"));
  TrialSpec tested = Tested();
  tested.privacy = spec.privacy;
  EXPECT_THAT(CalibrateTrial(tested).message(), HasSubstr("vote_cost"));
}

TEST(ConfidentVotes, ATestBoundsTheClaimAndIsPaid) {
  TrialSpec spec = Tested();
  spec.queries = 5000;
  spec.release.answers = 4000;
  spec.release.vote_noise = 100;
  const std::vector<PrivacyEvent> events = Planned(spec);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].kind, MechanismKind::consensus_test);
  EXPECT_LT(std::erfc(events[0].sensitivity / std::sqrt(2.0)) / 2, 1e-6 * (1 + 1e-6));
  const Bound bound = ComputeBound(kExample, events);
  EXPECT_EQ(bound.accountant, "rdp-tested");
  EXPECT_LT(bound.epsilon, ComputeBound(kExample, {events[1], events[2]}).epsilon);
  // More than what passed costs alone: the test has its own price.
  const double untested = 0.65 + std::log1p(-1 / 12.0) - (std::log(1e-5) + std::log(12.0)) / 11;
  EXPECT_GT(bound.epsilon, untested);
  EXPECT_EQ(ComputeSpecEpsilon(spec), bound.epsilon);
  EXPECT_EQ(ComputeSpecEpsilon(spec, Adjacency::member), bound.epsilon);
}

// A neighbour moves the test's bound by the sensitivity and, through its size, by the margin.
TEST(ConfidentVotes, TheTestCostsWhatItsNoiseSays) {
  TrialSpec spec = Tested();
  const PrivacyEvent test = PlanConsensusTest(spec);
  const Composition sum = ComposeEvents(kMember, {test});
  ASSERT_EQ(sum.tests.size(), 1u);
  EXPECT_GE(sum.tests[0].moved, 1 + test.sensitivity * 16 * std::expm1(test.test.smoothness));
  const double cost = MakeRdpCurve(sum)(12);
  EXPECT_GE(cost, SmoothGaussianRdp(12, test.test.smoothness, 16, 1));
  spec.release.cost_noise = 1;
  EXPECT_GT(MakeRdpCurve(ComposeEvents(kMember, {PlanConsensusTest(spec)}))(12), cost);
}

TEST(ConfidentVotes, ATestSaysNothingOfOtherVotes) {
  TrialSpec spec = Tested();
  spec.queries = 5000;
  spec.release.answers = 0;
  spec.release.vote_noise = 100;
  const std::vector<PrivacyEvent> events = Planned(spec);
  const auto accountant = [](std::vector<PrivacyEvent> changed) { return ComputeBound(kMember, changed).accountant; };
  ASSERT_EQ(accountant(events), "rdp-tested");
  const auto with = [&](std::size_t which, const auto& change) {
    std::vector<PrivacyEvent> changed = events;
    change(changed[which]);
    return accountant(changed);
  };
  EXPECT_EQ(with(0, [](PrivacyEvent& e) { e.count = 2; }), "rdp") << "tested until it passed";
  EXPECT_EQ(with(1, [](PrivacyEvent& e) { ++e.count; }), "rdp") << "a query that was held against its threshold twice";
  EXPECT_EQ(with(1, [](PrivacyEvent& e) { e.noise_std = 149; }), "rdp");
  EXPECT_EQ(with(2, [](PrivacyEvent& e) { e.noise_std = 99; }), "rdp");
  EXPECT_EQ(with(2, [](PrivacyEvent& e) { ++e.count; }), "rdp") << "answers without a threshold";
  EXPECT_EQ(with(2, [](PrivacyEvent& e) { e.sensitivity *= 2; }), "rdp") << "parts of a vote";
  std::vector<PrivacyEvent> more = events;
  more.push_back(events[2]);
  EXPECT_EQ(accountant(more), "rdp") << "other votes beside those that were tested";
  EXPECT_EQ(ComputeBound(kExampleAdded, events).accountant, "rdp") << "totals count what any votes cost";
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    PrivacyEvent broken = events[0];
    broken.test.cost = bad;
    EXPECT_FALSE(FindEventProblem(broken).empty()) << bad;
  }
}

TEST(ConfidentVotes, TheCalculatorSaysWhatATrialClaims) {
  Question question{"confident-votes",
                    "",
                    "",
                    {{"noise", 40}, {"threshold-noise", 150}, {"queries", 640}, {"answers", 286}, {"delta", 1e-5}}};
  EXPECT_EQ(ComputeEpsilon(question).value()[0].claim.epsilon, ComputeSpecEpsilon(Confident()));
  question.values["vote-cost"] = 0.65;
  question.values["cost-noise"] = 16;
  const std::vector<Answer> answers = ComputeEpsilon(question).value();
  double least = answers[0].claim.epsilon;
  for (const Answer& answer : answers)
    if (answer.variant == "cost tested" && answer.claim.adjacency == Adjacency::example)
      least = std::min(least, answer.claim.epsilon);
  EXPECT_EQ(least, ComputeSpecEpsilon(Tested()));
  question.values.erase("vote-cost");
  question.values.erase("cost-noise");
  question.values.erase("noise");
  const Solution solved = SolveQuestion(question, 2).value();
  EXPECT_EQ(solved.parameter, "noise");
  EXPECT_LE(solved.answers[0].claim.epsilon, 2);
}

}  // namespace
}  // namespace retort::privacy
