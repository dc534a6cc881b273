// What each mechanism costs under each relation, and everything that must not be bounded.
#include "experiments/privacy/relation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "experiments/privacy/accountants/rdp_accountant.h"
#include "tests/unit/experiments/privacy/numbers.h"

namespace retort::privacy {
namespace {

constexpr double kDelta = 1e-5;
constexpr Relation kAnswer{Adjacency::answer, Neighbour::answer};
constexpr Relation kSlot{Adjacency::slot, Neighbour::answer};
constexpr Relation kTeacher{Adjacency::teacher, Neighbour::replace};
constexpr Relation kMember{Adjacency::member, Neighbour::replace};
constexpr Relation kZeroed{Adjacency::member, Neighbour::zero_out};
constexpr Relation kExample{Adjacency::example, Neighbour::replace};
constexpr Relation kAdded{Adjacency::example, Neighbour::add_remove};

// sigma = 100, B = 256, T = 200 as published, in units of C.
PrivacyEvent Gradients(EventUnit unit, bool frobenius = false) {
  PrivacyEvent event;
  event.kind = MechanismKind::gaussian_gradient;
  event.unit = unit;
  event.count = unit == EventUnit::batch ? 200 : 200 * 256;
  event.sensitivity = 2;
  event.noise_std = 100;
  event.rows_per_batch = 256;
  event.noise_coordinates = event.release_coordinates = 10;
  event.frobenius = frobenius;
  event.granularity = 0x1p-29;
  event.source = NoiseSource::secure_lattice;
  return event;
}

PrivacyEvent Votes() {
  PrivacyEvent event;
  event.kind = MechanismKind::noisy_votes;
  event.unit = EventUnit::vote;
  event.count = 5000;
  event.sensitivity = std::sqrt(2.0);
  event.noise_std = 100;
  event.noise_coordinates = event.release_coordinates = 10;
  event.source = NoiseSource::secure_lattice;
  return event;
}

PrivacyEvent Steps() {
  PrivacyEvent event;
  event.kind = MechanismKind::subsampled_gaussian;
  event.unit = EventUnit::step;
  event.count = 80;
  event.sensitivity = 0.1;
  event.noise_std = 0.2;
  event.sampling_rate = 0.128;
  event.rows_per_batch = 1024;
  event.noise_coordinates = event.release_coordinates = 26010;
  event.granularity = 0x1p-29;
  event.source = NoiseSource::secure_lattice;
  return event;
}

double Epsilon(const Relation& relation, const PrivacyEvent& event) {
  return ComputeRelationBound(relation, {event}, kDelta, nullptr).epsilon;
}
std::string Reason(const Relation& relation, const PrivacyEvent& event) {
  const Bound bound = ComputeRelationBound(relation, {event}, kDelta, nullptr);
  EXPECT_EQ(bound.epsilon, kInfinity);
  return bound.reason;
}

TEST(Relation, NoisePerRowAtThePublishedSettings) {
  const PrivacyEvent event = Gradients(EventUnit::row);
  EXPECT_DOUBLE_EQ(Epsilon(kTeacher, event), 28.839);
  EXPECT_DOUBLE_EQ(Epsilon(kExample, event), 28.839);
  EXPECT_DOUBLE_EQ(Epsilon(kAnswer, event), 0.059);
  EXPECT_DOUBLE_EQ(Epsilon(kSlot, event), 1.061);
}

TEST(Relation, SumsWhoseNoiseLiesOnNoLatticeAreUnbounded) {
  for (PrivacyEvent event : {Gradients(EventUnit::row), Steps()}) {
    event.source = NoiseSource::secure_float;
    EXPECT_EQ(Reason(kExample, event), "float-noise");
    event.source = NoiseSource::secure_lattice;
    for (const double granularity : {0.0, -0x1p-29, 1e-9, kInfinity, std::nan("")}) {
      event.granularity = granularity;
      EXPECT_EQ(Reason(kExample, event), "bad-event") << granularity;
    }
  }
}

TEST(Relation, OneNoiseVectorForTheBatchAtThePublishedSettings) {
  const PrivacyEvent event = Gradients(EventUnit::batch);
  EXPECT_DOUBLE_EQ(Epsilon(kTeacher, event), 2929.280);
  EXPECT_DOUBLE_EQ(Epsilon(kAnswer, event), 0.059);
  EXPECT_DOUBLE_EQ(Epsilon(kSlot, event), 1.061);
}

TEST(Relation, FrobeniusNormAtThePublishedSettings) {
  EXPECT_DOUBLE_EQ(Epsilon(kTeacher, Gradients(EventUnit::batch, true)), 28.839);
  EXPECT_DOUBLE_EQ(Epsilon(kSlot, Gradients(EventUnit::batch, true)), 28.839);
  EXPECT_DOUBLE_EQ(Epsilon(kTeacher, Gradients(EventUnit::row, true)), 1.061);
  EXPECT_DOUBLE_EQ(Epsilon(kSlot, Gradients(EventUnit::row, true)), 1.061);
  // One answer rescales its whole batch: 2 C sqrt(B) in the sum.
  EXPECT_NEAR(Epsilon(kAnswer, Gradients(EventUnit::batch, true)), 1.22, 0.01);
}

TEST(Relation, VotesCostRootTwoReplacedAndOneZeroed) {
  EXPECT_DOUBLE_EQ(Epsilon(kMember, Votes()), 4.378);
  EXPECT_DOUBLE_EQ(Epsilon(kExample, Votes()), 4.378);
  EXPECT_LT(Epsilon(kZeroed, Votes()), 3);
  PrivacyEvent scaled = Votes();  // eight votes a member, with eight times the noise
  scaled.sensitivity *= 8;
  scaled.noise_std *= 8;
  EXPECT_EQ(Epsilon(kMember, scaled), Epsilon(kMember, Votes()));
  EXPECT_EQ(Epsilon(kZeroed, scaled), Epsilon(kZeroed, Votes()));
}

TEST(Relation, VoteSumIsExactlyTwoOverVariance) {
  const Composition sum = ComposeEvents(kMember, {Votes()});
  EXPECT_EQ(ComputeMuSquaredUp(sum.gaussian), 1.0);
}

TEST(Relation, ExampleClaimOfVotesNamesItsShards) {
  std::vector<std::string> assumptions;
  (void)ComputeRelationBound(kExample, {Votes()}, kDelta, &assumptions);
  EXPECT_EQ(assumptions, std::vector<std::string>{std::string(kAssumeDisjointShards)});
}

TEST(Relation, StepsOfDpSgdBoundOnlyExamplesAndSayHow) {
  std::vector<std::string> assumptions;
  const Bound added = ComputeRelationBound(kAdded, {Steps()}, kDelta, &assumptions);
  EXPECT_EQ(added.accountant, "pld");
  EXPECT_EQ(added.reason, "removal binds");
  EXPECT_EQ(assumptions, std::vector<std::string>{"poisson-sampling"});
  const Bound replaced = ComputeRelationBound(kExample, {Steps()}, kDelta, nullptr);
  EXPECT_EQ(replaced.accountant, "pld");
  EXPECT_EQ(replaced.reason, "opposite gradients bind");
  EXPECT_GT(replaced.epsilon, 1.5 * added.epsilon);
  EXPECT_EQ(Reason(kTeacher, Steps()), "unexpected-mechanism");
  EXPECT_EQ(Reason(kMember, Steps()), "unexpected-mechanism");
}

// mu = sqrt(80) C / (2 C), and twice that where an example is replaced.
TEST(Relation, StepsOverAllExamplesAreExactAndRestOnNoSampling) {
  PrivacyEvent steps = Steps();
  steps.sampling_rate = 1;
  std::vector<std::string> assumptions;
  const Bound added = ComputeRelationBound(kAdded, {steps}, kDelta, &assumptions);
  EXPECT_EQ(added.accountant, "exact-gdp");
  EXPECT_EQ(added.epsilon, RoundEpsilonUp(ComputeGaussianEpsilon(kDelta, ComputeComposedMu({{80, 0.1, 0.2, 1}}))));
  EXPECT_NEAR(added.epsilon, ComputeGaussianEpsilon(kDelta, std::sqrt(80.0) / 2), 1e-3);
  EXPECT_EQ(assumptions, std::vector<std::string>());
  const Bound replaced = ComputeRelationBound(kExample, {steps}, kDelta, nullptr);
  EXPECT_EQ(replaced.accountant, "exact-gdp");
  EXPECT_NEAR(replaced.epsilon, ComputeGaussianEpsilon(kDelta, std::sqrt(80.0)), 1e-3);
}

TEST(Relation, FullBatchStepsCostMoreThanSampledOnes) {
  PrivacyEvent all = Steps(), sampled = Steps();
  all.sampling_rate = 1;
  EXPECT_GT(Epsilon(kAdded, all), Epsilon(kAdded, sampled));
  sampled.sampling_rate = 1 - 1e-9;
  EXPECT_EQ(ComputeRelationBound(kAdded, {sampled}, kDelta, nullptr).accountant, "exact-gdp");
  EXPECT_EQ(Epsilon(kAdded, all), Epsilon(kAdded, sampled));
}

TEST(Relation, StepsOverAllExamplesAddUpWithSampledOnes) {
  PrivacyEvent all = Steps();
  all.sampling_rate = 1;
  const Bound both = ComputeRelationBound(kAdded, {all, Steps()}, kDelta, nullptr);
  EXPECT_EQ(both.accountant, "rdp");
  EXPECT_GT(both.epsilon, Epsilon(kAdded, all));
}

// Two kinds of sampled steps have no loss distribution in common here: their RDP adds up.
TEST(Relation, UnlikeSampledStepsAddUpByTheirRdp) {
  PrivacyEvent louder = Steps();
  louder.noise_std *= 1.5;
  EXPECT_EQ(ComputeRelationBound(kAdded, {Steps(), louder}, kDelta, nullptr).accountant, "rdp");
  EXPECT_EQ(ComputeRelationBound(kExample, {Steps(), louder}, kDelta, nullptr).accountant, "rdp-group-of-2");
  EXPECT_GT(Epsilon(kAdded, louder), 0);
  EXPECT_LT(Epsilon(kAdded, louder), Epsilon(kAdded, Steps()));
}

TEST(Relation, MoreStepsThanTransformsAreQuickForAreBoundedByRdp) {
  PrivacyEvent steps = Steps();
  steps.noise_std *= 1e4;
  steps.count = kMaxPldSteps;
  EXPECT_EQ(ComputeRelationBound(kAdded, {steps}, kDelta, nullptr).accountant, "pld");
  const double few = Epsilon(kAdded, steps);
  ++steps.count;
  EXPECT_EQ(ComputeRelationBound(kAdded, {steps}, kDelta, nullptr).accountant, "rdp");
  EXPECT_GT(Epsilon(kAdded, steps), few);
}

// A network of other size changes the event, not the loss of a step.
TEST(Relation, StepsOfEqualRateAndNoiseAreOneTerm) {
  PrivacyEvent wider = Steps();
  wider.noise_coordinates = wider.release_coordinates = 10 * wider.noise_coordinates;
  PrivacyEvent twice = Steps();
  twice.count *= 2;
  EXPECT_EQ(ComputeRelationBound(kAdded, {Steps(), wider}, kDelta, nullptr).accountant, "pld");
  EXPECT_EQ(Epsilon(kAdded, twice), ComputeRelationBound(kAdded, {Steps(), wider}, kDelta, nullptr).epsilon);
}

// Where nearly all examples are taken, sampling gains nothing, and two steps of a pair lose what one Gaussian does not:
// of steps of two kinds, whose bound is otherwise that of a pair.
TEST(Relation, SampledStepsCostNoMoreThanIfTheyTookAll) {
  PrivacyEvent sampled = Steps(), all = Steps();
  sampled.sampling_rate = 0.99;
  sampled.count = all.count = 1000;
  all.sampling_rate = 1;
  EXPECT_LE(Epsilon(kAdded, sampled), Epsilon(kAdded, all));
  EXPECT_LE(Epsilon(kExample, sampled), Epsilon(kExample, all));
  PrivacyEvent louder = sampled, all_louder = all;
  louder.noise_std = all_louder.noise_std = 2 * sampled.noise_std;
  const Bound replaced = ComputeRelationBound(kExample, {sampled, louder}, kDelta, nullptr);
  EXPECT_EQ(replaced.epsilon, ComputeRelationBound(kExample, {all, all_louder}, kDelta, nullptr).epsilon);
  EXPECT_EQ(replaced.accountant, "exact-gdp");
}

TEST(Relation, SampledStepsTakeTheSmallerOfTwoBounds) {
  const PrivacyEvent steps = Steps();
  const double z = steps.noise_std / steps.sensitivity;
  const double rdp =
      ComputeSubsampledGaussianEpsilon(steps.sampling_rate, z, static_cast<double>(steps.count), kDelta).epsilon;
  EXPECT_LT(Epsilon(kAdded, steps), rdp);
  EXPECT_GT(Epsilon(kAdded, steps), 0.8 * rdp);
}

TEST(Relation, EventsComposeAndAnswersDoNot) {
  PrivacyEvent louder = Gradients(EventUnit::row);
  louder.noise_std = 50;
  const std::vector<PrivacyEvent> both = {Gradients(EventUnit::row), louder};
  EXPECT_GT(ComputeRelationBound(kTeacher, both, kDelta, nullptr).epsilon, Epsilon(kTeacher, louder));
  EXPECT_EQ(ComputeRelationBound(kAnswer, both, kDelta, nullptr).epsilon, Epsilon(kAnswer, louder));
}

TEST(Relation, TwiceTheCountAndHalfTheNoiseCostMore) {
  for (const PrivacyEvent& event : {Gradients(EventUnit::row), Gradients(EventUnit::batch), Steps()}) {
    PrivacyEvent twice = event;
    twice.count *= 2;
    PrivacyEvent quieter = event;
    quieter.noise_std /= 2;
    EXPECT_GT(Epsilon(kAdded, twice), Epsilon(kAdded, event));
    EXPECT_GT(Epsilon(kAdded, quieter), Epsilon(kAdded, event));
  }
}

TEST(Relation, SplittingABlockChangesNothing) {
  std::vector<PrivacyEvent> blocks;
  for (int i = 0; i < 200; ++i) {
    blocks.push_back(Gradients(EventUnit::row));
    blocks.back().count = 256;
  }
  const std::vector<PrivacyEvent> merged = Aggregate(blocks);
  ASSERT_EQ(merged.size(), 1U);
  EXPECT_EQ(merged.front().count, 200 * 256);
  EXPECT_EQ(ComputeRelationBound(kTeacher, merged, kDelta, nullptr).epsilon,
            Epsilon(kTeacher, Gradients(EventUnit::row)));
}

TEST(FailClosed, NumbersThatAreNoScales) {
  const double nan = std::nan("");
  for (const double bad : {nan, kInfinity, -kInfinity}) {
    PrivacyEvent event = Votes();
    event.noise_std = bad;
    EXPECT_EQ(Reason(kMember, event), "not-finite");
    event = Gradients(EventUnit::row);
    event.sensitivity = bad;
    EXPECT_EQ(Reason(kTeacher, event), "not-finite");
  }
  PrivacyEvent event = Steps();
  event.sampling_rate = nan;
  EXPECT_EQ(Reason(kAdded, event), "not-finite");
  event.sampling_rate = 1.5;
  EXPECT_EQ(Reason(kAdded, event), "bad-event");
}

TEST(FailClosed, NoiseThatIsNotThere) {
  PrivacyEvent event = Gradients(EventUnit::row);
  event.noise_std = 0;
  EXPECT_EQ(Reason(kTeacher, event), "no-noise");
  event = Gradients(EventUnit::row);
  event.source = NoiseSource::none;
  EXPECT_EQ(Reason(kTeacher, event), "no-noise-source");
  event.source = NoiseSource::seeded;
  for (const Relation& relation : {kAnswer, kSlot, kTeacher, kMember, kExample, kAdded}) {
    EXPECT_EQ(Reason(relation, event), "seeded-noise");
  }
  event = PrivacyEvent();
  event.count = 1;
  EXPECT_EQ(Reason(kTeacher, event), "raw-answers");
  event.kind = MechanismKind::loss_noise;
  EXPECT_EQ(Reason(kTeacher, event), "noise-does-not-reach-the-update");
}

TEST(FailClosed, NoiseOfAnotherShapeThanTheRelease) {
  PrivacyEvent event = Gradients(EventUnit::row);
  event.noise_coordinates = 1;
  EXPECT_EQ(Reason(kTeacher, event), "broadcast-noise");
  event.noise_coordinates = 0;
  event.release_coordinates = 0;
  EXPECT_EQ(Reason(kTeacher, event), "bad-event");
}

TEST(FailClosed, CountsAndSensitivitiesOutOfRange) {
  PrivacyEvent event = Votes();
  event.count = -1;
  EXPECT_EQ(Reason(kMember, event), "bad-event");
  event = Votes();
  event.sensitivity = 0;
  EXPECT_EQ(Reason(kMember, event), "bad-event");
  event.sensitivity = -1;
  EXPECT_EQ(Reason(kMember, event), "bad-event");
  event.sensitivity = 1;  // a member moves a vote: nothing below sqrt(2) is possible
  EXPECT_EQ(Reason(kMember, event), "bad-event");
  event = Gradients(EventUnit::row);
  event.rows_per_batch = 0;
  EXPECT_EQ(Reason(kSlot, event), "bad-event");
  event = Gradients(EventUnit::vote);
  EXPECT_EQ(Reason(kTeacher, event), "bad-event");
}

TEST(FailClosed, CountsThatOverflowWhenAddedUp) {
  PrivacyEvent event = Votes();
  event.count = std::numeric_limits<std::int64_t>::max() - 1;
  EXPECT_EQ(ComputeRelationBound(kMember, Aggregate({event, event}), kDelta, nullptr).epsilon, kInfinity);
}

TEST(FailClosed, VoidsCloseEveryClaimButThoseOfOneAnswer) {
  PrivacyEvent event = Gradients(EventUnit::row);
  event.voids = {std::string(kVoidGeneratorTouchedTeacher)};
  EXPECT_EQ(Reason(kTeacher, event), kVoidGeneratorTouchedTeacher);
  EXPECT_EQ(Reason(kExample, event), kVoidGeneratorTouchedTeacher);
  EXPECT_EQ(Reason(kMember, event), kVoidGeneratorTouchedTeacher);
  EXPECT_TRUE(std::isfinite(Epsilon(kAnswer, event)));
  for (const std::string& name :
       {std::string(kVoidTeacherJacobian), std::string(kVoidSoftOutput), std::string("what")}) {
    event.voids = {name};
    EXPECT_EQ(Reason(kTeacher, event), name);
    EXPECT_EQ(Reason(kAnswer, event), name);
  }
}

TEST(FailClosed, NothingRecordedIsNotZero) {
  EXPECT_EQ(ComputeRelationBound(kTeacher, {}, kDelta, nullptr).epsilon, kInfinity);
  EXPECT_EQ(ComputeRelationBound(kTeacher, {}, kDelta, nullptr).reason, "no-recorded-release");
}

TEST(FailClosed, DeltaOutOfRange) {
  for (const double delta : {0.0, 1.0, -1.0, std::nan("")}) {
    EXPECT_EQ(ComputeRelationBound(kMember, {Votes()}, delta, nullptr).reason, "bad-delta");
  }
}

}  // namespace
}  // namespace retort::privacy
