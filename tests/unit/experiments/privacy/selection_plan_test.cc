// The event of a selecting sweep: what its claims are, and what it does not cover.
#include "experiments/privacy/selection_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "experiments/methods/methods.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/selection.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

DrawLaw Geometric(double mean) { return MakeDrawLaw("geometric", mean, std::nullopt).value(); }

TrialSpec Candidate(double noise) {
  TrialSpec spec = DpSgd(Role::student);
  spec.release.noise_multiplier = noise;
  spec.name = "dpsgd-" + std::to_string(noise);
  return spec;
}

// Less noise in each step, and fewer steps: neither costs as much as the other under every relation.
TrialSpec LongCandidate(double noise) {
  TrialSpec spec = Candidate(noise);
  spec.steps = 10 * spec.steps;
  spec.name += "-long";
  return spec;
}

PrivacyEvent Planned(const std::vector<TrialSpec>& candidates, std::int64_t lost = 0, double mean = 10) {
  Result<PrivacyEvent> event = PlanSelection(Geometric(mean), candidates, lost);
  EXPECT_TRUE(event.ok()) << event.status().message();
  return event.ok() ? *event : PrivacyEvent();
}

const Claim* FindClaim(const std::vector<Claim>& claims, Neighbour neighbour) {
  for (const Claim& claim : claims)
    if (claim.adjacency == Adjacency::example && claim.neighbour == neighbour) return &claim;
  return nullptr;
}

double Epsilon(const std::vector<TrialSpec>& candidates, std::int64_t lost = 0, double mean = 10) {
  return FindClaim(ComputeSelectionClaims(candidates.front(), Planned(candidates, lost, mean)), Neighbour::add_remove)
      ->epsilon;
}

TEST(SelectionPlan, EventRoundTrips) {
  const PrivacyEvent event = Planned({Candidate(2), LongCandidate(3)});
  const Result<PrivacyEvent> read = DecodeEvent(EncodeEvent(event));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->SameMechanism(event));
  EXPECT_EQ(EncodeEvent(*read), EncodeEvent(event));
  EXPECT_EQ(read->selection->candidates.size(), 2U);
  const PrivacyEvent other = Planned({Candidate(2), LongCandidate(4)});
  EXPECT_FALSE(other.SameMechanism(event));
}

TEST(SelectionPlan, ASelectionInsideASelectionIsDamage) {
  PrivacyEvent outer = Planned({Candidate(2)});
  auto nested = std::make_shared<PrivateSelection>(*outer.selection);
  nested->candidates.push_back({Planned({Candidate(3)})});
  outer.selection = nested;
  EXPECT_FALSE(DecodeEvent(EncodeEvent(outer)).ok());
}

TEST(SelectionPlan, ClaimsAreThoseOfTheCalculator) {
  const std::vector<TrialSpec> candidates = {Candidate(2), LongCandidate(3)};
  const PrivacyEvent event = Planned(candidates);
  const std::vector<Claim> claims = ComputeSelectionClaims(candidates.front(), event);
  for (const Relation& relation : {kExampleAdded, kExample}) {
    const Claim* claim = FindClaim(claims, relation.neighbour);
    ASSERT_NE(claim, nullptr);
    std::vector<SelectionBase> bases;
    for (const auto& events : event.selection->candidates)
      bases.push_back(MakeSelectionBase(ComposeEvents(relation, events)).value());
    const Bound bound = ComputeSelectionBound(Geometric(10), SelectionPool(bases), candidates.front().privacy.delta);
    EXPECT_EQ(claim->status, ClaimStatus::proven);
    EXPECT_EQ(claim->epsilon, bound.epsilon);
    EXPECT_EQ(claim->accountant, bound.accountant);
    EXPECT_TRUE(claim->accountant.starts_with("selection-"));
    EXPECT_NE(claim->reason.find("geometric"), std::string::npos);
    EXPECT_NE(std::find(claim->assumptions.begin(), claim->assumptions.end(), kAssumeHiddenDraws),
              claim->assumptions.end());
  }
}

TEST(SelectionPlan, TheWorstCandidateCounts) {
  const double quiet = Epsilon({Candidate(4)}), loud = Epsilon({Candidate(2)});
  EXPECT_LT(quiet, loud);
  EXPECT_GE(Epsilon({Candidate(4), Candidate(2)}), loud);
  EXPECT_GE(Epsilon({Candidate(2), Candidate(4)}), loud);
}

TEST(SelectionPlan, ChoosingCostsMoreTheMoreAreDrawn) {
  const Claim claim = *FindClaim(ComputeSelectionClaims(Candidate(2), Planned({Candidate(2)})), Neighbour::add_remove);
  const double alone = ComputeWorstCandidate(claim, Planned({Candidate(2)}));
  EXPECT_GT(claim.epsilon, alone);
  EXPECT_LT(Epsilon({Candidate(2)}, 0, 5), Epsilon({Candidate(2)}, 0, 50));
}

TEST(SelectionPlan, LostRunsAreCharged) {
  EXPECT_LT(Epsilon({Candidate(2)}), Epsilon({Candidate(2)}, 1));
  EXPECT_LT(Epsilon({Candidate(2)}, 1), Epsilon({Candidate(2)}, 2));
}

TEST(SelectionPlan, CandidatesThatCostTheSameStandInItOnce) {
  TrialSpec slow = Candidate(2);
  slow.optimization.lr = 0.25;
  EXPECT_EQ(Planned({Candidate(2), slow}).selection->candidates.size(), 1U);
}

TEST(SelectionPlan, CandidatesThatAnotherCostsAsMuchAsAreLeftOut) {
  TrialSpec few = Candidate(2);
  few.steps /= 2;
  for (const std::vector<TrialSpec>& candidates :
       {std::vector{Candidate(2), Candidate(3), few}, std::vector{few, Candidate(3), Candidate(2)}}) {
    const PrivacyEvent event = Planned(candidates);
    ASSERT_EQ(event.selection->candidates.size(), 1U);
    EXPECT_EQ(event.selection->candidates.front().front().noise_std,
              PlanEvents(Candidate(2)).value().front().noise_std);
    EXPECT_EQ(event.selection->candidates.front().front().count, Candidate(2).steps);
  }
  EXPECT_EQ(Planned({Candidate(2), LongCandidate(3)}).selection->candidates.size(), 2U);
}

TEST(SelectionPlan, SeededNoiseLeavesNoBound) {
  TrialSpec spec = Candidate(2);
  spec.noise = NoiseMode::seeded;
  for (const Claim& claim : ComputeSelectionClaims(spec, Planned({spec}))) {
    EXPECT_FALSE(std::isfinite(claim.epsilon));
    EXPECT_EQ(claim.reason, reason::kSeededNoise);
  }
}

TEST(SelectionPlan, CandidatesWithoutAProvenClaimAreRefused) {
  const auto refused = [](const TrialSpec& spec) { return PlanSelection(Geometric(3), std::vector{spec}, 0).status(); };
  TrialSpec student = GradientStudent(Reading::working);
  student.parent = TrialId(7);
  EXPECT_NE(refused(student).message().find("asks a teacher, which would be trained apart"), std::string::npos);
  const std::vector<TrialSpec> both = {DpSgd(Role::teacher), student};
  EXPECT_NE(PlanSelection(Geometric(3), both, 0).status().message().find("the candidate " + NameCandidate(student)),
            std::string::npos)
      << "the student says why, not its teacher";
  TrialSpec taught = GradientStudent(Reading::sound);  // of a DP-SGD teacher
  taught.parent = TrialId(7);
  ASSERT_TRUE(IsPostProcessing(FindKind(taught)));
  EXPECT_NE(refused(taught).message().find("cost nothing beyond it: compare them with [sweep.search]"),
            std::string::npos);
  EXPECT_NE(refused(GradientStudent(Reading::working)).message().find("no proven claim"), std::string::npos);
  TrialSpec tested = Candidate(2);
  tested.stop.metric = StopMetric::accuracy;
  EXPECT_NE(refused(tested).message().find("test split"), std::string::npos);
  TrialSpec alone = Candidate(2);
  auto data = std::make_shared<DataSpec>(*alone.data);
  data->split.public_range = {};
  alone.data = data;
  EXPECT_NE(refused(alone).message().find("public"), std::string::npos);
  TrialSpec silent = Candidate(2);
  silent.release.noise_multiplier = 0;
  EXPECT_NE(refused(silent).message().find("no finite proven claim"), std::string::npos);
}

TEST(SelectionPlan, CandidatesOfUnlikeKindsAreRefused) {
  const auto refused = [](const TrialSpec& other) {
    return PlanSelection(Geometric(3), std::vector{Candidate(2), other}, 0).status().message();
  };
  TrialSpec other = Candidate(3);
  other.privacy.delta = 1e-6;
  EXPECT_NE(refused(other).find("delta"), std::string::npos);
  other = Candidate(3);
  other.noise = NoiseMode::seeded;
  EXPECT_NE(refused(other).find("noise"), std::string::npos);
  other = Candidate(3);
  auto data = std::make_shared<DataSpec>(*other.data);
  data->digest = std::string(64, 'b');
  other.data = data;
  EXPECT_NE(refused(other).find("data sets"), std::string::npos);
  other = Candidate(3);
  other.method = "lp-2st";
  EXPECT_NE(refused(other).find("adjacencies"), std::string::npos);
}

std::vector<PrivacyEvent> Drawn(const TrialSpec& spec) {
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  for (PrivacyEvent& event : events) event.noise_coordinates = event.release_coordinates = 12345;
  return events;
}

TEST(SelectionPlan, WhatACandidateWasPlannedToDrawIsCovered) {
  const PrivacyEvent event = Planned({Candidate(2), Candidate(3)});
  EXPECT_EQ(FindUncovered(event, {}), "");
  EXPECT_EQ(FindUncovered(event, Drawn(Candidate(2))), "");
  EXPECT_EQ(FindUncovered(event, Drawn(Candidate(3))), "");
  std::vector<PrivacyEvent> part = Drawn(Candidate(2));
  part.front().count = 1;
  EXPECT_EQ(FindUncovered(event, part), "");
}

TEST(SelectionPlan, LabelsThatWerePlannedAreCovered) {
  TrialSpec spec = Candidate(2);
  spec.method = "lp-2st";
  spec.release.epsilon0 = 1;
  const std::vector<TrialSpec> candidates = {spec};
  const PrivacyEvent event = Planned(candidates);
  std::vector<PrivacyEvent> drawn = PlanEvents(spec).value();
  ASSERT_GT(drawn.size(), 1U);
  EXPECT_EQ(FindUncovered(event, drawn), "");
  for (const Claim& claim : ComputeSelectionClaims(spec, event))
    EXPECT_EQ(std::isfinite(claim.epsilon), claim.adjacency == Adjacency::label);
  drawn.back().noise_coordinates = 1;
  EXPECT_EQ(FindUncovered(event, drawn), reason::kCandidateOutsidePlan);
}

TEST(SelectionPlan, WhatWasNotPlannedIsNotCovered) {
  const PrivacyEvent event = Planned({Candidate(2), Candidate(3)});
  EXPECT_EQ(FindUncovered(event, Drawn(Candidate(1.5))), reason::kCandidateOutsidePlan);
  std::vector<PrivacyEvent> more = Drawn(Candidate(2));
  ++more.front().count;
  EXPECT_EQ(FindUncovered(event, more), reason::kCandidateOutsidePlan);
  EXPECT_EQ(FindUncovered(Planned({Candidate(2)}, 1), more), "") << "a lost run had paid for a block";
  std::vector<PrivacyEvent> twice = Drawn(Candidate(2));
  twice.push_back(twice.front());
  EXPECT_EQ(FindUncovered(event, twice), reason::kCandidateOutsidePlan);
  std::vector<PrivacyEvent> unrecorded = Drawn(Candidate(2));
  unrecorded.front().facts.clear();
  EXPECT_EQ(FindUncovered(event, unrecorded), reason::kCandidateOutsidePlan);
  std::vector<PrivacyEvent> voided = Drawn(Candidate(2));
  voided.front().voids = {std::string(reason::kSharedExample)};
  EXPECT_EQ(FindUncovered(event, voided), reason::kSharedExample);
  std::vector<PrivacyEvent> seeded = Drawn(Candidate(2));
  seeded.front().source = NoiseSource::seeded;
  EXPECT_EQ(FindUncovered(event, seeded), reason::kCandidateOutsidePlan);
}

TEST(SelectionPlan, AVoidedSelectionHasNoBound) {
  PrivacyEvent event = Planned({Candidate(2)});
  event.voids = {std::string(reason::kCandidateOutsidePlan)};
  for (const Claim& claim : ComputeSelectionClaims(Candidate(2), event)) {
    EXPECT_FALSE(std::isfinite(claim.epsilon));
    EXPECT_EQ(claim.reason, reason::kCandidateOutsidePlan);
  }
}

TEST(SelectionPlan, ACandidateThatLacksAFactLeavesNoBound) {
  const PrivacyEvent event = Planned({Candidate(2)});
  auto selection = std::make_shared<PrivateSelection>(*event.selection);
  selection->candidates.front().front().facts.clear();
  PrivacyEvent bare = event;
  bare.selection = selection;
  const Claim claim = *FindClaim(ComputeSelectionClaims(Candidate(2), bare), Neighbour::add_remove);
  EXPECT_FALSE(std::isfinite(claim.epsilon));
  EXPECT_EQ(claim.reason, "unrecorded-no-batch-norm");
}

TEST(SelectionPlan, TotalsCountASelectionWhoseTrialIsNotKnown) {
  const PrivacyEvent event = Planned({Candidate(2)});
  const std::vector<PrivacyEvent> counted = ComputeChargedEvents({nullptr, {}}, {event});
  ASSERT_EQ(counted.size(), 1U);
  EXPECT_EQ(ComputeTotalEpsilon({counted}, 1e-5), Epsilon({Candidate(2)}));
  std::vector<PrivacyEvent> unknown = ComputeChargedEvents({nullptr, {}}, PlanEvents(Candidate(2)).value());
  EXPECT_FALSE(std::isfinite(ComputeTotalEpsilon({unknown}, 1e-5)));
}

TEST(SelectionPlan, SelectionsAddUp) {
  const PrivacyEvent one = Planned({Candidate(4)}), other = Planned({Candidate(5)});
  const double first = ComputeTotalEpsilon({{one}}, 1e-5), second = ComputeTotalEpsilon({{other}}, 1e-5);
  const double both = ComputeTotalEpsilon({{one}, {other}}, 1e-5), twice = ComputeTotalEpsilon({{one}, {one}}, 1e-5);
  EXPECT_GT(both, std::max(first, second));
  EXPECT_GT(twice, first);
  EXPECT_TRUE(std::isfinite(both) && std::isfinite(twice));
  const std::vector<PrivacyEvent> plain = PlanEvents(Candidate(4)).value();
  const double beside = ComputeTotalEpsilon({{one}, plain}, 1e-5);
  EXPECT_GT(beside, first);
  EXPECT_TRUE(std::isfinite(beside));
}

TEST(SelectionPlan, BudgetsAreHeldAgainstSelections) {
  const PrivacyEvent event = Planned({Candidate(2)});
  const double cost = ComputeTotalEpsilon({{event}}, 1e-5);
  EXPECT_FALSE(FindTotalAboveBudget({{event}}, {cost, 1e-5}));
  EXPECT_TRUE(FindTotalAboveBudget({{event}}, {cost - 0.001, 1e-5}));
}

// delta(epsilon) of mu-GDP in closed form [Balle and Wang 2018], and its epsilon by bisection.
double GdpEpsilon(double mu, double delta) {
  const auto cdf = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  double low = 0, high = 100;
  for (int round = 0; round < 200; ++round) {
    const double e = (low + high) / 2;
    (cdf(mu / 2 - e / mu) - std::exp(e) * cdf(-mu / 2 - e / mu) > delta ? low : high) = e;
  }
  return high;
}

TrialSpec Scored(double noise) {
  TrialSpec spec = Candidate(noise);
  auto data = std::make_shared<DataSpec>(*spec.data);
  data->split.train = {0, 7000};
  data->split.validation = {7000, 8000};
  data->split.public_range = {0, 0};
  spec.data = data;
  return spec;
}

PrivacyEvent PlannedScore(double training_noise, double score_noise, std::int64_t lost = 0) {
  const std::vector<TrialSpec> candidates = {Scored(training_noise)};
  Result<PrivacyEvent> event = PlanSelection(Geometric(10), candidates, lost, score_noise);
  EXPECT_TRUE(event.ok()) << event.status().message();
  return event.ok() ? *event : PrivacyEvent();
}

std::vector<PrivacyEvent> DrawnScore(double training_noise, double score_noise) {
  TrialSpec spec = Scored(training_noise);
  spec.score_noise = score_noise;
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  events.push_back(PlanScore(spec));
  return events;
}

Claim FindScored(const PrivacyEvent& event, Neighbour neighbour) {
  return *FindClaim(ComputeSelectionClaims(Scored(2), event), neighbour);
}

TEST(SelectionPlan, ALoudScoreCostsWhatItsNoiseSays) {
  const PrivacyEvent event = PlannedScore(200, 0.5);
  for (const Neighbour neighbour : {Neighbour::add_remove, Neighbour::replace}) {
    const Claim claim = FindScored(event, neighbour);
    ASSERT_EQ(claim.status, ClaimStatus::proven) << claim.reason;
    // 1/S-GDP under either relation: an example that is replaced moves the count by 1, too.
    const double alone = GdpEpsilon(1 / 0.5, claim.delta);
    EXPECT_NEAR(ComputeWorstCandidate(claim, event), alone, 0.002 * alone);
    SelectionBase base;
    base.mu = 2;
    EXPECT_NEAR(claim.epsilon, ComputeSelectionBound(Geometric(10), SelectionPool({base}), claim.delta).epsilon, 0.1);
    EXPECT_GT(claim.epsilon, alone);
    const auto& assumed = claim.assumptions;
    EXPECT_NE(std::find(assumed.begin(), assumed.end(), kAssumeValidationApart), assumed.end());
  }
}

TEST(SelectionPlan, AQuietScoreCostsNothingBeyondTheTraining) {
  const std::vector<TrialSpec> candidates = {Scored(2)};
  TrialSpec open = Scored(2);
  auto data = std::make_shared<DataSpec>(*open.data);
  data->split.public_range = {8000, 9000};
  open.data = data;
  const std::vector<TrialSpec> opened = {open};
  const PrivacyEvent free = PlanSelection(Geometric(10), opened, 0).value(), paid = PlannedScore(2, 1e5);
  for (const Neighbour neighbour : {Neighbour::add_remove, Neighbour::replace})
    EXPECT_NEAR(FindScored(paid, neighbour).epsilon, FindScored(free, neighbour).epsilon, 0.002);
}

TEST(SelectionPlan, EitherPartMayBeTheWorse) {
  double last = 1e9;
  for (const double score : {0.5, 1.0, 2.0, 4.0}) {
    const double epsilon = FindScored(PlannedScore(20, score), Neighbour::add_remove).epsilon;
    EXPECT_LT(epsilon, last);
    last = epsilon;
  }
}

TEST(SelectionPlan, ALostRunMayHaveDrawnAScore) {
  const PrivacyEvent event = PlannedScore(200, 1, 1);
  EXPECT_EQ(event.selection->candidates.front().back().count, 2);
  const Claim claim = FindScored(event, Neighbour::add_remove);
  EXPECT_NEAR(ComputeWorstCandidate(claim, event), GdpEpsilon(std::sqrt(2.0), claim.delta), 0.01);
}

TEST(SelectionPlan, AScoreWithoutValidationExamplesIsRefused) {
  const std::vector<TrialSpec> candidates = {Candidate(2)};
  const Status status = PlanSelection(Geometric(3), candidates, 0, 4).status();
  EXPECT_NE(status.message().find("split.validation"), std::string::npos) << status.message();
}

TEST(SelectionPlanMutants, AScoreThatIsNotPlannedForIsCaught) {
  const PrivacyEvent event = PlannedScore(2, 4);
  EXPECT_EQ(FindUncovered(event, DrawnScore(2, 4)), "");
  EXPECT_EQ(FindUncovered(event, DrawnScore(2, 3)), reason::kCandidateOutsidePlan) << "less noise";
  EXPECT_EQ(FindUncovered(Planned({Candidate(2)}), DrawnScore(2, 4)), reason::kCandidateOutsidePlan) << "not paid";
  std::vector<PrivacyEvent> twice = DrawnScore(2, 4);
  twice.push_back(twice.back());
  EXPECT_EQ(FindUncovered(event, twice), reason::kCandidateOutsidePlan) << "drawn again";
  EXPECT_EQ(FindUncovered(PlannedScore(2, 4, 1), twice), "") << "a lost run had paid for it";
  std::vector<PrivacyEvent> unknown = DrawnScore(2, 4);
  unknown.back().facts.clear();
  EXPECT_EQ(FindUncovered(event, unknown), reason::kCandidateOutsidePlan) << "nobody knows that the parts are apart";
  std::vector<PrivacyEvent> seeded = DrawnScore(2, 4);
  seeded.back().source = NoiseSource::seeded;
  EXPECT_EQ(FindUncovered(event, seeded), reason::kCandidateOutsidePlan);
}

TEST(SelectionPlanMutants, AScoreThatNobodyPaidForIsCaught) {
  const PrivacyEvent event = PlannedScore(2, 4);
  std::vector<PrivacyEvent> charged = DrawnScore(2, 4);
  EXPECT_EQ(FindUncovered(event, charged, true), "");
  charged.back().count = 0;
  EXPECT_EQ(FindUncovered(event, charged, true), reason::kCandidateOutsidePlan) << "given back";
  charged.pop_back();
  EXPECT_EQ(FindUncovered(event, charged, true), reason::kCandidateOutsidePlan);
  EXPECT_EQ(FindUncovered(event, charged), "") << "it failed before it had a score";
}

TEST(SelectionPlanMutants, ACountOfHalfTheSensitivityIsCaught) {
  const PrivacyEvent event = PlannedScore(200, 1);
  const auto changed = [&event](const auto& change) {
    auto selection = std::make_shared<PrivateSelection>(*event.selection);
    change(selection->candidates.front().back());
    PrivacyEvent bare = event;
    bare.selection = selection;
    return FindScored(bare, Neighbour::add_remove);
  };
  const Claim half = changed([](PrivacyEvent& score) { score.sensitivity = 0.5; });
  EXPECT_FALSE(std::isfinite(half.epsilon));
  EXPECT_EQ(half.reason, reason::kBadEvent);
  const Claim unknown = changed([](PrivacyEvent& score) { score.facts.clear(); });
  EXPECT_EQ(unknown.reason, reason::kUnrecordedValidation);
  EXPECT_FALSE(std::isfinite(changed([](PrivacyEvent& score) { score.noise_std = 0; }).epsilon));
  EXPECT_FALSE(std::isfinite(changed([](PrivacyEvent& s) { s.source = NoiseSource::seeded; }).epsilon));
}

TEST(SelectionPlan, AScoreOutsideASelectionIsComposed) {
  const std::vector<PrivacyEvent> all = DrawnScore(200, 1);
  const double both = ComputeRelationBound(kExampleAdded, all, 1e-5, nullptr).epsilon;
  EXPECT_GE(both, ComputeRelationBound(kExampleAdded, {all.back()}, 1e-5, nullptr).epsilon);
  EXPECT_NEAR(ComputeRelationBound(kExample, {all.back()}, 1e-5, nullptr).epsilon, GdpEpsilon(1, 1e-5), 0.002);
}

TEST(SelectionPlan, ALawThatIsNoneLeavesNoBound) {
  const PrivacyEvent event = Planned({Candidate(2)});
  auto selection = std::make_shared<PrivateSelection>(*event.selection);
  selection->law.mean = 1;  // less than gamma and eta say
  PrivacyEvent bare = event;
  bare.selection = selection;
  EXPECT_EQ(FindEventProblem(bare), reason::kBadEvent);
}

}  // namespace
}  // namespace retort::privacy
