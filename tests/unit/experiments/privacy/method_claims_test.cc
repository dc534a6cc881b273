// What the methods' releases allow to be claimed.
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/methods/presets.h"
#include "experiments/methods/spec_keys.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/calibration.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "tests/testing/kind_samples.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

TrialSpec Student(const std::string& method, Reading reading = Reading::working) {
  TrialSpec spec;
  spec.data = Digits();
  spec.method = method;
  spec.reading = reading;
  ApplyPreset(spec, FindKind(spec));
  return spec;
}

std::vector<Claim> EnsembleClaims(Partition partition) {
  TrialSpec teacher = Teacher("ensemble");
  teacher.shards.partition = partition;
  return ComputeClaims({&teacher, {}}, {});
}

const Claim& Get(const std::vector<Claim>& claims, Adjacency adjacency, Neighbour neighbour = Neighbour::replace) {
  static const Claim kNone;
  const Claim* claim = Find(claims, adjacency, neighbour);
  EXPECT_NE(claim, nullptr) << GetAdjacencyName(adjacency);
  return claim != nullptr ? *claim : kNone;
}

// mu = 2C sqrt(Q) / (sigma C) over Q = BT rows, whatever C and n are.
TEST(MethodClaims, OneMemberOfAnEnsembleMovesTheSumByTwiceTheBound) {
  TrialSpec spec = Student("dpdfd-ensemble");
  spec.release.sigma = 1000;
  const std::vector<Claim> claims = PlannedClaims(spec, EnsembleClaims(Partition::shards));
  const double mu = 2 * std::sqrt(static_cast<double>(spec.batch * spec.steps)) / spec.release.sigma;
  const double expected = ComputeGaussianEpsilon(spec.privacy.delta, mu);
  EXPECT_NEAR(Get(claims, Adjacency::member).epsilon, expected, 2e-3);
  EXPECT_NEAR(Get(claims, Adjacency::example).epsilon, expected, 2e-3);
  EXPECT_NEAR(Get(claims, Adjacency::member, Neighbour::zero_out).epsilon,
              ComputeGaussianEpsilon(spec.privacy.delta, mu / 2), 2e-3);
  EXPECT_EQ(Get(claims, Adjacency::teacher).status, ClaimStatus::unbounded);
  EXPECT_EQ(Get(claims, Adjacency::teacher).reason, reason::kAllMembers);
}

TEST(MethodClaims, ADirichletPartitionLeavesMembersAndNoExamples) {
  TrialSpec spec = Student("feddpsd");
  spec.release.sigma = 1000;
  const std::vector<Claim> claims = PlannedClaims(spec, EnsembleClaims(Partition::dirichlet));
  EXPECT_EQ(Get(claims, Adjacency::member).status, ClaimStatus::proven);
  EXPECT_EQ(Get(claims, Adjacency::example).status, ClaimStatus::unbounded);
  EXPECT_EQ(Get(claims, Adjacency::example).reason, reason::kShardsFollowExamples);
}

TEST(MethodClaims, ATrustedServerIsNamed) {
  TrialSpec spec = Student("feddpsd");
  spec.release.sigma = 1000;
  spec.release.trust = Trust::trusted;
  const Claim& claim = Get(PlannedClaims(spec, EnsembleClaims(Partition::shards)), Adjacency::member);
  EXPECT_EQ(std::count(claim.assumptions.begin(), claim.assumptions.end(), kAssumeTrustedServer), 1);
}

// n - 1 responses in place of n: their number alone tells.
TEST(MethodClaims, ASilencedMembersResponseIsMissed) {
  TrialSpec spec = Student("feddpsd");
  spec.release.branch = Branch::label;
  ApplyPreset(spec, FindKind(spec));
  spec.release.epsilon0 = 0.01;
  const std::vector<Claim> claims = PlannedClaims(spec, EnsembleClaims(Partition::shards));
  EXPECT_EQ(Get(claims, Adjacency::member).status, ClaimStatus::proven) << "another member answers in its place";
  const Claim& silenced = Get(claims, Adjacency::member, Neighbour::zero_out);
  EXPECT_EQ(silenced.status, ClaimStatus::unbounded);
  EXPECT_EQ(silenced.reason, reason::kMissingAnswer);
  EXPECT_NE(DescribeReason(silenced.reason), silenced.reason);
}

// What is measured on the public or the test split tells of the example, whatever the teacher's answers do.
TEST(MethodClaims, OtherSplitsAreOutsideTheTeachersClaim) {
  for (const char* method : {"dpdfd", "dpsd-label"}) {
    TrialSpec spec = Student(method);
    spec.generator.discriminator = Discriminator::student;
    spec.generator.pretrain_steps = 0;
    spec.release.epsilon0 = 0.001;
    std::vector<PrivacyEvent> events = PlanEvents(spec).value();
    EXPECT_EQ(Get(ComputeClaims({&spec, {}}, events), Adjacency::example).status, ClaimStatus::proven) << method;
    for (PrivacyEvent& event : events) event.voids.emplace_back(reason::kSharedExample);
    std::vector<Claim> claims = ComputeClaims({&spec, {}}, events);
    EXPECT_EQ(Get(claims, Adjacency::teacher).status, ClaimStatus::proven) << method;
    EXPECT_EQ(Get(claims, Adjacency::example).status, ClaimStatus::unbounded) << method;
    EXPECT_EQ(Get(claims, Adjacency::example).reason, reason::kSharedExample) << method;
    claims = PlannedClaims(spec);
    EXPECT_TRUE(WithdrawUnsupportedClaims({&spec, {}}, events, claims)) << "a row that was written before";
    EXPECT_EQ(Get(claims, Adjacency::example).reason, reason::kSharedExample) << method;
  }
}

TEST(MethodClaims, EveryClientsResponsesCountForThatClient) {
  TrialSpec spec = Student("feddpsd");
  spec.release.branch = Branch::label;
  ApplyPreset(spec, FindKind(spec));
  ASSERT_EQ(FindKind(spec), TrialKind::response_student);
  spec.release.epsilon0 = 0.01;
  spec.steps = spec.batch = 1;
  const std::vector<Claim> once = PlannedClaims(spec, EnsembleClaims(Partition::shards));
  EXPECT_LE(Get(once, Adjacency::member).epsilon, 0.011);
  EXPECT_EQ(Get(once, Adjacency::teacher).status, ClaimStatus::unbounded);
  spec.steps = 100;
  EXPECT_GT(Get(PlannedClaims(spec, EnsembleClaims(Partition::shards)), Adjacency::member).epsilon, 0.05);
}

// Three slots of four collapse to one image, which is answered once; the fourth is another one in every step.
TEST(MethodClaims, ASlotMayHaveHadAllTheAnswersThatWereDrawn) {
  TrialSpec spec = Student("dpsd-label");
  spec.generator.discriminator = Discriminator::student;
  spec.generator.pretrain_steps = 0;
  spec.release.epsilon0 = 0.1;
  spec.batch = 4;
  spec.steps = 100;
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  ASSERT_EQ(events.size(), 1U);
  const double apart = Get(ComputeClaims({&spec, {}}, events), Adjacency::slot, Neighbour::answer).epsilon;
  events[0].count = spec.steps + 1;
  const double collapsed = Get(ComputeClaims({&spec, {}}, events), Adjacency::slot, Neighbour::answer).epsilon;
  EXPECT_EQ(collapsed, apart) << "a slot of " << spec.steps << " answers";
  TrialSpec quarter = spec;
  quarter.steps = (spec.steps + spec.batch) / spec.batch;
  const double by_batches = Get(PlannedClaims(quarter), Adjacency::slot, Neighbour::answer).epsilon;
  EXPECT_LT(by_batches, 0.9 * collapsed);
  events[0].count = 7;
  EXPECT_LT(Get(ComputeClaims({&spec, {}}, events), Adjacency::slot, Neighbour::answer).epsilon, by_batches)
      << "no slot had more answers than were drawn";
}

TEST(MethodClaims, PrintedResponsesHaveNoBound) {
  for (const char* method : {"dp-dfd", "dpsd-label"}) {
    const TrialSpec spec = Student(method, Reading::printed);
    const std::vector<Claim> claims = PlannedClaims(spec);
    for (const Adjacency adjacency : {Adjacency::teacher, Adjacency::example})
      EXPECT_EQ(Get(claims, adjacency).status, ClaimStatus::unbounded) << method;
    EXPECT_EQ(Get(claims, Adjacency::answer, Neighbour::answer).status, ClaimStatus::unbounded) << method;
    ASSERT_NE(FindPaper(claims), nullptr);
    EXPECT_EQ(FindPaper(claims)->epsilon, spec.release.epsilon0) << "the paper composes nothing";
  }
}

TEST(MethodClaims, AGeneratorTrainedThroughTheTeacherLeavesOneAnswer) {
  const TrialSpec spec = Student("dp-dfd");
  const std::vector<Claim> claims = PlannedClaims(spec);
  EXPECT_EQ(Get(claims, Adjacency::answer, Neighbour::answer).status, ClaimStatus::proven);
  EXPECT_EQ(Get(claims, Adjacency::teacher).reason, kVoidGeneratorTouchedTeacher);
  EXPECT_EQ(Get(claims, Adjacency::example).reason, kVoidGeneratorTouchedTeacher);
  TrialSpec apart = spec;
  apart.generator.discriminator = Discriminator::student;
  apart.generator.pretrain_steps = 0;
  apart.generator.bn_statistics = 0;
  apart.release.epsilon0 = 0.001;
  EXPECT_EQ(Get(PlannedClaims(apart), Adjacency::teacher).status, ClaimStatus::proven);
}

TEST(MethodClaims, NoiseOnALossBoundsNothing) {
  TrialSpec spec = Student("rona");
  spec.source = QuerySource::public_split;
  for (const Adjacency adjacency : {Adjacency::teacher, Adjacency::example})
    EXPECT_EQ(Get(PlannedClaims(spec), adjacency).status, ClaimStatus::unbounded);
  EXPECT_EQ(Get(PlannedClaims(spec), Adjacency::teacher).reason, reason::kLossNoise);
}

// 1,000 public digits, half of them asked about in each of (40 + 5 x 8) epochs, by one batch of up to 512.
TEST(MethodClaims, RonaDrawsPerBatchAsPrintedAndPerRowInCode) {
  const auto only = [](Reading reading) {
    TrialSpec spec = Student("rona", reading);
    spec.source = QuerySource::public_split;
    const std::vector<PrivacyEvent> events = PlanEvents(spec).value();
    EXPECT_EQ(events.size(), 1U);
    return events.front();
  };
  EXPECT_EQ(only(Reading::printed).unit, EventUnit::batch);
  EXPECT_EQ(only(Reading::printed).count, 80);
  EXPECT_EQ(only(Reading::working).unit, EventUnit::row);
  EXPECT_EQ(only(Reading::working).count, 80 * 500);
}

TEST(MethodClaims, AStudentThatAsksNobodyLosesNothing) {
  for (const Reading reading : {Reading::working, Reading::stated, Reading::printed, Reading::sound}) {
    TrialSpec spec = Student("rona", reading);
    spec.source = QuerySource::public_split;
    spec.rona.hint_epochs = spec.rona.distill_epochs = 0;
    EXPECT_TRUE(PlanEvents(spec).value().empty());
    for (const Adjacency adjacency : {Adjacency::teacher, Adjacency::example}) {
      EXPECT_EQ(Get(PlannedClaims(spec), adjacency).status, ClaimStatus::proven);
      EXPECT_EQ(Get(PlannedClaims(spec), adjacency).epsilon, 0);
    }
  }
}

TEST(MethodClaims, WhatWasAskedIsNotForgottenWhereNothingWasRecorded) {
  TrialSpec hints = Student("rona"), answers = hints;
  hints.rona.distill_epochs = answers.rona.hint_epochs = 0;
  for (const TrialSpec& spec : {hints, answers}) {
    const std::vector<Claim> claims = ComputeClaims({&spec, {}}, {});
    EXPECT_NE(Get(claims, Adjacency::teacher).accountant, "no-release");
  }
}

// The paper's CIFAR-10 figure: 40,000 public images, q = 0.5, S = 512, (40 + 5 * 8) epochs.
TEST(MethodClaims, RonasFormulaGivesItsPrintedEpsilon) {
  TrialSpec spec = Student("rona");
  auto data = std::make_shared<DataSpec>(*spec.data);
  data->split.public_range = {0, 40'000};
  spec.data = data;
  spec.source = QuerySource::public_split;
  const std::vector<Claim> claims = PlannedClaims(spec);
  ASSERT_NE(FindPaper(claims), nullptr);
  EXPECT_NEAR(FindPaper(claims)->epsilon, 9.597, 2e-3);
}

// What a claim must not say where the paper protects labels alone: that its epsilon is of an example, or has a delta.
std::string CheckLabelClaims(const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    const std::string name = claim.accountant + ", " + std::string(GetAdjacencyName(claim.adjacency));
    const bool formula = claim.status == ClaimStatus::paper_formula;
    if (formula && claim.adjacency != Adjacency::label) return name + ": a label's epsilon as another unit's";
    if (formula && claim.delta != 0) return name + ": a delta that the paper does not have";
    if (formula && claim.units != DescribeUnit(Adjacency::label)) return name + ": " + claim.units;
    const bool proven = claim.status == ClaimStatus::proven;
    if (claim.adjacency == Adjacency::example && !proven && std::isfinite(claim.epsilon)) return name + ": not proven";
  }
  return FindPaper(claims) != nullptr ? "" : "no formula";
}

// Every trial of a label mechanism, whatever it is taught by.
template <typename F>
void ForLabelTrials(F visit) {
  const std::vector<std::vector<Claim>> teachers = {{},
                                                    PlannedClaims(Teacher("plain")),
                                                    PlannedClaims(DpSgd(Role::teacher)),
                                                    EnsembleClaims(Partition::shards),
                                                    EnsembleClaims(Partition::dirichlet)};
  for (const char* method : {"dp-dfd", "dpsd-label", "feddpsd"}) {
    for (const Reading reading : {Reading::working, Reading::stated, Reading::printed, Reading::sound}) {
      const bool federated = method == std::string("feddpsd");
      if (federated && reading == Reading::sound) continue;
      TrialSpec spec = Student(method, reading);
      if (federated) spec.release.branch = Branch::label;
      ApplyPreset(spec, FindKind(spec));
      spec.release.epsilon0 = 1;
      spec.steps = spec.batch = 2;  // how many answers there are makes no difference, and many take long to account for
      if (reading == Reading::sound) {
        spec.source = QuerySource::public_split;
        spec.queries = 300;
        spec.release.vote_noise = 40;
      }
      for (const NoiseMode noise : {NoiseMode::secure, NoiseMode::seeded}) {
        spec.noise = noise;
        for (const std::vector<Claim>& teacher : teachers) visit(spec, teacher);
      }
    }
  }
}

TEST(MethodClaims, LabelFormulasAreOfALabelAtDeltaZero) {
  int trials = 0;
  ForLabelTrials([&](const TrialSpec& spec, const std::vector<Claim>& teacher) {
    EXPECT_EQ(CheckLabelClaims(PlannedClaims(spec, teacher)), "")
        << spec.method << " " << static_cast<int>(spec.reading);
    ++trials;
  });
  EXPECT_EQ(trials, 110);
}

// What versions before claimed.
TEST(MethodClaims, ALabelCalledAnExampleIsCaught) {
  ForLabelTrials([&](const TrialSpec& spec, const std::vector<Claim>& teacher) {
    const std::vector<Claim> today = PlannedClaims(spec, teacher);
    for (const auto& mutate :
         {+[](Claim& claim) { claim.adjacency = Adjacency::example; }, +[](Claim& claim) { claim.delta = 1e-5; },
          +[](Claim& claim) { claim.units = DescribeUnit(Adjacency::example); }}) {
      std::vector<Claim> claims = today;
      for (Claim& claim : claims)
        if (claim.status == ClaimStatus::paper_formula) mutate(claim);
      EXPECT_NE(CheckLabelClaims(claims), "") << spec.method;
    }
  });
}

// An example stays without a finite bound where a label alone is protected; the line says so.
TEST(MethodClaims, LabelMechanismsSayThatAnExampleHasNoBound) {
  const std::vector<Claim> claims = PlannedClaims(Student("dp-dfd"));
  EXPECT_EQ(Get(claims, Adjacency::example).status, ClaimStatus::unbounded);
  EXPECT_NE(Get(claims, Adjacency::example).reason, "");
  EXPECT_EQ(FindPaper(PlannedClaims(Student("dpdfd")))->adjacency, Adjacency::example) << "data are protected there";
}

TEST(MethodClaims, LabelsAreProtectedAndImagesAreNot) {
  for (const char* method : {"lp-2st", "alibi"}) {
    TrialSpec spec = Student(method);
    spec.source = QuerySource::private_split;
    spec.release.epsilon0 = 2;
    const std::vector<Claim> claims = PlannedClaims(spec);
    EXPECT_EQ(Get(claims, Adjacency::label).status, ClaimStatus::proven) << method;
    EXPECT_LE(Get(claims, Adjacency::label).epsilon, 2) << "a label is in one part of those released in turn";
    EXPECT_GT(Get(claims, Adjacency::label).epsilon, 1.9);
    EXPECT_EQ(Get(claims, Adjacency::example).reason, reason::kLabelsOnly);
  }
}

// Ledgers of before do not say that the noise on labels had no end.
TEST(MethodClaims, LabelsMayHaveNoNoiseAtALargeEpsilon) {
  for (const double epsilon0 : {2.0, 40.0, 41.0, 96.0}) {
    TrialSpec spec = Student("alibi");
    spec.source = QuerySource::private_split;
    spec.release.epsilon0 = epsilon0;
    EXPECT_EQ(Get(PlannedClaims(spec), Adjacency::label).status, ClaimStatus::proven) << epsilon0;
    std::vector<PrivacyEvent> events = PlanEvents(spec).value();
    for (PrivacyEvent& event : events) std::erase(event.facts, kFactUnboundedNoise);
    const Claim label = Get(ComputeClaims({&spec, {}}, events), Adjacency::label);
    EXPECT_EQ(label.status == ClaimStatus::proven, epsilon0 <= 40) << epsilon0;
    if (epsilon0 > 40) {
      EXPECT_EQ(label.reason, reason::kUnrecordedEndless);
      EXPECT_NE(DescribeReason(label.reason), label.reason);
    }
  }
}

TEST(MethodClaims, APartOfTheLabelsThatIsDrawnAgainCountsAgain) {
  TrialSpec spec = Student("lp-2st");
  spec.source = QuerySource::private_split;
  spec.release.epsilon0 = 1;
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  ASSERT_EQ(events.size(), 2U);
  events[0].count += events[0].rows_per_batch;
  const std::vector<Claim> twice = ComputeClaims({&spec, {}}, events);
  EXPECT_GT(Get(twice, Adjacency::label).epsilon, 1.9);
  EXPECT_LE(Get(twice, Adjacency::label).epsilon, 2);
}

// A label that becomes a sensitive one makes its example private, and their number is on record.
TEST(MethodClaims, LabelsThatDecideWhichExamplesArePrivateHaveNoClaim) {
  for (const char* method : {"lp-2st", "alibi"}) {
    TrialSpec spec = Student(method);
    spec.source = QuerySource::private_split;
    spec.release.epsilon0 = 2;
    auto data = std::make_shared<DataSpec>(*spec.data);
    data->sensitive_classes = {6};
    spec.data = data;
    const Claim label = Get(PlannedClaims(spec), Adjacency::label);
    EXPECT_EQ(label.status, ClaimStatus::unbounded) << method;
    EXPECT_EQ(label.reason, reason::kSplitByLabels) << method;
    TrialSpec asked = Calibrated(spec, ClaimTarget::label, 1);
    EXPECT_FALSE(CalibrateTrial(asked).ok()) << method;
  }
}

// An attempt of another program records other facts with its charge.
TEST(MethodClaims, RedrawnLabelsCountAgain) {
  TrialSpec spec = Student("lp-2st");
  spec.source = QuerySource::private_split;
  spec.release.epsilon0 = 1;
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  ASSERT_EQ(events.size(), 2U);
  PrivacyEvent again = events[0];
  std::erase(again.facts, kFactUnboundedNoise);
  events.push_back(again);
  EXPECT_GT(Get(ComputeClaims({&spec, {}}, events), Adjacency::label).epsilon, 1.9);
  EXPECT_LE(Get(ComputeClaims({&spec, {}}, events), Adjacency::label).epsilon, 2);
}

TEST(MethodClaims, ReplacementDoublesTheEmbeddingsSensitivity) {
  TrialSpec spec = Student("dp-merf");
  spec.source = QuerySource::private_split;
  spec.release.noise_multiplier = 5;
  const std::vector<Claim> claims = PlannedClaims(spec);
  const Claim& added = Get(claims, Adjacency::example, Neighbour::add_remove);
  EXPECT_EQ(added.status, ClaimStatus::proven);
  EXPECT_GE(added.epsilon, ComputeGaussianEpsilon(spec.privacy.delta, 1.0 / 5)) << "one draw at sensitivity 1";
  EXPECT_GE(Get(claims, Adjacency::example).epsilon, ComputeGaussianEpsilon(spec.privacy.delta, 2.0 / 5));
}

TEST(MethodClaims, SpectralLabelsCostOneDrawWhateverTheirNumber) {
  TrialSpec spec = Student("dp-spectral");
  spec.source = QuerySource::public_split;
  spec.release.noise_multiplier = 5;
  for (const std::int64_t eigenvectors : {1, 400}) {
    spec.labels.eigenvectors = eigenvectors;
    const std::vector<Claim> claims = PlannedClaims(spec);
    EXPECT_EQ(claims.size(), 2U);
    const Claim& added = Get(claims, Adjacency::example, Neighbour::add_remove);
    EXPECT_EQ(added.status, ClaimStatus::proven);
    EXPECT_EQ(added.epsilon, RoundEpsilonUp(ComputeGaussianEpsilon(spec.privacy.delta, 1.0 / 5)));
    EXPECT_EQ(Get(claims, Adjacency::example).epsilon,
              RoundEpsilonUp(ComputeGaussianEpsilon(spec.privacy.delta, 2.0 / 5)));
  }
  spec.source = QuerySource::private_split;
  for (const Claim& claim : PlannedClaims(spec)) EXPECT_EQ(claim.reason, reason::kPrivateSource);
}

TEST(MethodClaims, CalibrationSolvesForTheNoiseOfSpectralLabels) {
  TrialSpec spec = Calibrated(Student("dp-spectral"), ClaimTarget::example, 0.1);
  spec.source = QuerySource::public_split;
  ASSERT_TRUE(CalibrateTrial(spec).ok()) << CalibrateTrial(spec).message();
  const auto epsilon = [&] { return Get(PlannedClaims(spec), Adjacency::example, Neighbour::add_remove).epsilon; };
  EXPECT_EQ(epsilon(), 0.1);
  spec.release.noise_multiplier *= 0.99;
  EXPECT_GT(epsilon(), 0.1);
  TrialSpec steps = Calibrated(Student("dp-spectral"), ClaimTarget::example, 1, Calibrate::steps);
  EXPECT_FALSE(CalibrateTrial(steps).ok());
}

TEST(MethodClaims, WithoutNoiseThereIsNoClaim) {
  TrialSpec averaged = Student("fedavg");
  averaged.source = QuerySource::private_split;
  for (const TrialSpec& spec : {averaged, Student("dense")})
    for (const Claim& claim : PlannedClaims(spec, EnsembleClaims(Partition::shards)))
      EXPECT_EQ(claim.status, ClaimStatus::unbounded) << spec.method;
}

TEST(MethodClaims, CalibrationFindsTheResponsesOfABudget) {
  TrialSpec spec = Calibrated(Student("dpsd-label"), ClaimTarget::slot, 3);
  spec.steps = 20;
  ASSERT_TRUE(CalibrateTrial(spec).ok()) << CalibrateTrial(spec).message();
  EXPECT_GT(spec.release.epsilon0, 0.1);
  EXPECT_LE(Get(PlannedClaims(spec), Adjacency::slot, Neighbour::answer).epsilon, 3);
  TrialSpec more = spec;
  more.release.epsilon0 *= 1.01;
  EXPECT_GT(Get(PlannedClaims(more), Adjacency::slot, Neighbour::answer).epsilon, 3);
  TrialSpec steps = Calibrated(Student("dpsd-label"), ClaimTarget::slot, 3, Calibrate::steps);
  steps.release.epsilon0 = 0.1;
  ASSERT_TRUE(CalibrateTrial(steps).ok());
  EXPECT_LE(Get(PlannedClaims(steps), Adjacency::slot, Neighbour::answer).epsilon, 3);
  ++steps.steps;
  EXPECT_GT(Get(PlannedClaims(steps), Adjacency::slot, Neighbour::answer).epsilon, 3);
}

TEST(MethodClaims, CalibrationOfThePapersFormulasTakesThemAsPrinted) {
  TrialSpec label = Calibrated(Student("dp-dfd"), ClaimTarget::paper, 1);
  ASSERT_TRUE(CalibrateTrial(label).ok()) << CalibrateTrial(label).message();
  EXPECT_EQ(label.release.epsilon0, 1);
  TrialSpec rona = Calibrated(Student("rona"), ClaimTarget::paper, 5);
  rona.source = QuerySource::public_split;
  ASSERT_TRUE(CalibrateTrial(rona).ok()) << CalibrateTrial(rona).message();
  EXPECT_NEAR(FindPaper(PlannedClaims(rona))->epsilon, 5, 1e-2);
}

TEST(MethodClaims, CalibrationOfTheEmbeddingMeetsItsBudget) {
  TrialSpec spec = Calibrated(Student("dp-merf"), ClaimTarget::example, 1);
  spec.source = QuerySource::private_split;
  spec.release.noise_multiplier = 0;
  ASSERT_TRUE(CalibrateTrial(spec).ok()) << CalibrateTrial(spec).message();
  const Claim& added = Get(PlannedClaims(spec), Adjacency::example, Neighbour::add_remove);
  EXPECT_LE(added.epsilon, 1);
  EXPECT_GT(added.epsilon, 0.99);
}

TrialSpec MakeNoisySample(TrialKind kind) {
  TrialSpec spec = testing::MakeKindSample(kind);
  spec.data = Digits();
  spec.release.noise_multiplier = 1;
  spec.release.vote_noise = 40;
  spec.release.epsilon0 = 1;
  return spec;
}

TEST(EveryKind, PlansWhatItReleases) {
  for (const TrialKind kind : kTrialKinds) {
    const TrialSpec spec = MakeNoisySample(kind);
    const auto events = PlanEvents(spec);
    ASSERT_TRUE(events.ok()) << GetKindName(kind) << ": " << events.status().message();
    EXPECT_EQ(events->empty(), Releases(kind, ReleaseKind::none)) << GetKindName(kind);
    EXPECT_EQ(PlannedClaims(spec).empty(), IsSleeper(kind)) << GetKindName(kind);
  }
}

ClaimTarget ChooseTarget(TrialKind kind) {
  if (Releases(kind, ReleaseKind::labels)) return ClaimTarget::label;
  const bool by_formula = Releases(kind, ReleaseKind::losses) || Releases(kind, ReleaseKind::gradients) ||
                          Releases(kind, ReleaseKind::responses);
  return by_formula ? ClaimTarget::paper : ClaimTarget::example;
}

TEST(EveryKind, IsSolvedForOrSaysWhyNot) {
  for (const TrialKind kind : kTrialKinds) {
    TrialSpec spec = Calibrated(MakeNoisySample(kind), ChooseTarget(kind), 3);
    const Status solved = CalibrateTrial(spec);
    const std::string_view why = FindTraits(kind).unsolvable;
    EXPECT_EQ(solved.ok(), why.empty()) << GetKindName(kind) << ": " << solved.message();
    EXPECT_NE(solved.message().find(why), std::string::npos) << GetKindName(kind) << ": " << solved.message();
  }
}

}  // namespace
}  // namespace retort::privacy
