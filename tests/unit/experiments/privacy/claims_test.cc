#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <memory>

#include "experiments/privacy/accountants/composition.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/experiments/privacy/numbers.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

using Adj = Adjacency;
using Nb = Neighbour;

std::vector<Claim> PrivateTeacherClaims() { return PlannedClaims(DpSgd(Role::teacher)); }

double FindEpsilon(const std::vector<Claim>& claims, Adj adjacency, Nb neighbour) {
  const Claim* claim = Find(claims, adjacency, neighbour);
  EXPECT_NE(claim, nullptr) << GetAdjacencyName(adjacency);
  return claim == nullptr ? kInfinity : claim->epsilon;
}

TEST(Claims, WorkingReadingShowsItsHonestTeacherEpsilon) {
  const std::vector<Claim> claims = PlannedClaims(GradientStudent(Reading::working));
  EXPECT_DOUBLE_EQ(FindEpsilon(claims, Adj::teacher, Nb::replace), 541289.259);
  EXPECT_DOUBLE_EQ(FindEpsilon(claims, Adj::example, Nb::replace), 541289.259);
  EXPECT_EQ(Find(claims, Adj::teacher, Nb::replace)->status, ClaimStatus::proven);
  EXPECT_EQ(Find(claims, Adj::teacher, Nb::replace)->assumptions, std::vector<std::string>());
  EXPECT_EQ(Find(claims, Adj::member, Nb::replace), nullptr);
}

TEST(Claims, ReadingsDifferByTheNoiseTheyDraw) {
  TrialSpec spec = GradientStudent(Reading::row_averaged);
  spec.steps = 200;
  EXPECT_DOUBLE_EQ(FindEpsilon(PlannedClaims(spec), Adj::teacher, Nb::replace), 28.839);
  spec.reading = Reading::printed;
  EXPECT_DOUBLE_EQ(FindEpsilon(PlannedClaims(spec), Adj::teacher, Nb::replace), 2929.280);
  spec.release.normalization = Normalization::frobenius;
  EXPECT_DOUBLE_EQ(FindEpsilon(PlannedClaims(spec), Adj::teacher, Nb::replace), 28.839);
}

TEST(Claims, NormBoundCannotChangeAProvenClaim) {
  TrialSpec spec = GradientStudent(Reading::row_averaged);
  const double before = FindEpsilon(PlannedClaims(spec), Adj::teacher, Nb::replace);
  spec.release.norm_bound = 0.25;
  EXPECT_DOUBLE_EQ(FindEpsilon(PlannedClaims(spec), Adj::teacher, Nb::replace), before);
}

TEST(Claims, DpdfdReadingsQuoteThePaperWithoutGuarantee) {
  for (const Reading reading :
       {Reading::working, Reading::stated, Reading::printed, Reading::row_averaged, Reading::sound}) {
    const std::vector<Claim> claims = PlannedClaims(GradientStudent(reading));
    const Claim* paper = FindPaper(claims);
    ASSERT_NE(paper, nullptr);
    EXPECT_DOUBLE_EQ(paper->epsilon, 0.041);
    EXPECT_EQ(paper->accountant, "paper:dpdfd-thm3");
    EXPECT_THAT(paper->reason, ::testing::HasSubstr("not a guarantee"));
    EXPECT_EQ(paper->reason.find("this reading draws no such noise") != std::string::npos, reading == Reading::sound);
  }
  EXPECT_NE(FindPaper(PlannedClaims(VoteStudent())), nullptr);
  EXPECT_EQ(FindPaper(PlannedClaims(DpSgd(Role::student))), nullptr);
}

TEST(Claims, MissingDetachLeavesNoProvenClaim) {
  TrialSpec spec = GradientStudent(Reading::row_averaged);
  spec.release.detach = false;
  for (const Claim& claim : PlannedClaims(spec)) {
    if (claim.status == ClaimStatus::paper_formula) continue;
    EXPECT_EQ(claim.status, ClaimStatus::unbounded);
    EXPECT_EQ(claim.reason, kVoidTeacherJacobian);
  }
  // The description alone suffices: an event that forgot to say it is not believed.
  const TrialSpec detached = GradientStudent(Reading::row_averaged);
  const std::vector<Claim> claims = ComputeClaims({&spec, {}}, PlanEvents(detached).value());
  EXPECT_EQ(FindEpsilon(claims, Adj::teacher, Nb::replace), kInfinity);
}

TEST(Claims, SeededNoiseLeavesNoFiniteNumberAtAll) {
  for (TrialSpec spec : {GradientStudent(Reading::working), GradientStudent(Reading::sound), VoteStudent(),
                         DpSgd(Role::student), DpSgd(Role::teacher), Teacher("plain"), Teacher("ensemble")}) {
    const std::vector<Claim> parents = PrivateTeacherClaims();
    spec.noise = NoiseMode::seeded;
    for (const Claim& claim : PlannedClaims(spec, parents)) {
      EXPECT_EQ(claim.epsilon, kInfinity);
      EXPECT_EQ(claim.reason, "seeded-noise");
    }
  }
}

TEST(Claims, SeededEventIsNotBelievedWhateverTheDescriptionSays) {
  const TrialSpec spec = VoteStudent();
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  events.push_back(events.front());
  events.back().source = NoiseSource::seeded;
  events.back().count = 1;
  for (const Claim& claim : ComputeClaims({&spec, {}}, events)) EXPECT_EQ(claim.reason, "seeded-noise");
}

TEST(Claims, TeachersWithoutNoiseAreUnboundedWithTheReason) {
  for (const char* method : {"plain", "ensemble"}) {
    const std::vector<Claim> claims = PlannedClaims(Teacher(method));
    ASSERT_FALSE(claims.empty());
    for (const Claim& claim : claims) {
      EXPECT_EQ(claim.status, ClaimStatus::unbounded);
      EXPECT_EQ(claim.reason, "not-privately-trained");
    }
  }
}

TEST(Claims, DataDependentShardsGiveNoExampleClaim) {
  const TrialSpec by_index = Teacher("ensemble");
  TrialSpec dirichlet = by_index, moved = by_index, skipping = by_index;
  dirichlet.shards.partition = Partition::dirichlet;
  auto data = std::make_shared<DataSpec>(*by_index.data);
  data->sensitive_classes = {6};
  moved.data = data;
  data = std::make_shared<DataSpec>(*by_index.data);
  data->preprocessing.on_error = OnError::skip_and_count;
  skipping.data = data;
  const TrialSpec student = VoteStudent();
  const std::vector<PrivacyEvent> events = PlanEvents(student).value();
  for (const TrialSpec* teacher : std::initializer_list<const TrialSpec*>{&by_index, &dirichlet, &moved, &skipping}) {
    const std::vector<Claim> claims = ComputeClaims({&student, PlannedClaims(*teacher)}, events);
    EXPECT_EQ(Find(claims, Adj::member, Nb::replace)->status, ClaimStatus::proven);
    const Claim* example = Find(claims, Adj::example, Nb::replace);
    EXPECT_EQ(example->status, teacher == &by_index ? ClaimStatus::proven : ClaimStatus::unbounded);
    EXPECT_EQ(example->reason == reason::kShardsFollowExamples, teacher != &by_index);
  }
}

TEST(Claims, DpSgdIsClaimedForAddedAndForReplacedExamples) {
  for (const Role role : {Role::teacher, Role::student}) {
    const std::vector<Claim> claims = PlannedClaims(DpSgd(role));
    const Claim* added = Find(claims, Adj::example, Nb::add_remove);
    const Claim* replaced = Find(claims, Adj::example, Nb::replace);
    ASSERT_NE(added, nullptr);
    ASSERT_NE(replaced, nullptr);
    EXPECT_EQ(added->accountant, "pld");
    EXPECT_LT(added->epsilon, 3);
    EXPECT_THAT(added->assumptions, ::testing::ElementsAre("poisson-sampling"));
    EXPECT_EQ(replaced->accountant, "pld");
    EXPECT_EQ(replaced->reason, "opposite gradients bind");
    EXPECT_GT(replaced->epsilon, 1.5 * added->epsilon);
  }
}

// T steps at noise z C are one Gaussian at mu = sqrt(T) / z, and at twice that for a replaced example.
TEST(Claims, DpGdIsClaimedExactlyForAddedAndForReplacedExamples) {
  for (const Role role : {Role::teacher, Role::student}) {
    const TrialSpec spec = DpGd(role);
    const double mu = std::sqrt(static_cast<double>(spec.steps)) / spec.release.noise_multiplier;
    const std::vector<Claim> claims = PlannedClaims(spec);
    const Claim* added = Find(claims, Adj::example, Nb::add_remove);
    const Claim* replaced = Find(claims, Adj::example, Nb::replace);
    ASSERT_NE(added, nullptr);
    ASSERT_NE(replaced, nullptr);
    for (const auto& [claim, of] : {std::pair(added, mu), std::pair(replaced, 2 * mu)}) {
      EXPECT_EQ(claim->accountant, "exact-gdp");
      EXPECT_GE(claim->epsilon, ComputeGaussianEpsilon(spec.privacy.delta, of));
      EXPECT_LE(claim->epsilon, ComputeGaussianEpsilon(spec.privacy.delta, of) + 0.0011);
      EXPECT_THAT(claim->assumptions, ::testing::IsEmpty());
    }
  }
}

TEST(Claims, StudentOfAPrivateTeacherInheritsTheExampleClaim) {
  const std::vector<Claim> parents = PrivateTeacherClaims();
  const std::vector<Claim> claims = PlannedClaims(GradientStudent(Reading::sound), parents);
  const double teacher = FindEpsilon(parents, Adj::example, Nb::add_remove);
  EXPECT_EQ(FindEpsilon(claims, Adj::example, Nb::add_remove), teacher);
  EXPECT_EQ(FindEpsilon(claims, Adj::example, Nb::replace), FindEpsilon(parents, Adj::example, Nb::replace));
  EXPECT_THAT(Find(claims, Adj::example, Nb::add_remove)->reason, ::testing::HasSubstr("post-processing"));
  EXPECT_EQ(FindEpsilon(claims, Adj::teacher, Nb::replace), kInfinity);
  EXPECT_EQ(Find(claims, Adj::answer, Nb::answer)->reason, "raw-answers");
}

TEST(Claims, OnlyPrivateQueriesChangeAPrivateTeachersClaim) {
  const std::vector<Claim> parents = PrivateTeacherClaims();
  const double teacher = FindEpsilon(parents, Adj::example, Nb::add_remove);
  TrialSpec spec = GradientStudent(Reading::sound);
  for (const QuerySource source : {QuerySource::generator, QuerySource::procedural, QuerySource::public_split}) {
    spec.source = source;
    EXPECT_EQ(FindEpsilon(PlannedClaims(spec, parents), Adj::example, Nb::add_remove), teacher);
  }
  TrialSpec seeded = DpSgd(Role::teacher);
  seeded.noise = NoiseMode::seeded;
  EXPECT_EQ(FindEpsilon(PlannedClaims(spec, PlannedClaims(seeded)), Adj::example, Nb::replace), kInfinity);
  EXPECT_EQ(FindEpsilon(PlannedClaims(spec, PlannedClaims(Teacher("plain"))), Adj::example, Nb::replace), kInfinity);
  // Votes and gradients are accounted as with a generator.
  TrialSpec votes = VoteStudent(), gradients = GradientStudent(Reading::working);
  const std::vector<Claim> of_votes = PlannedClaims(votes), of_gradients = PlannedClaims(gradients);
  votes.source = gradients.source = QuerySource::procedural;
  EXPECT_EQ(FindEpsilon(PlannedClaims(votes), Adj::example, Nb::replace),
            FindEpsilon(of_votes, Adj::example, Nb::replace));
  EXPECT_EQ(FindEpsilon(PlannedClaims(gradients), Adj::teacher, Nb::replace),
            FindEpsilon(of_gradients, Adj::teacher, Nb::replace));
}

TEST(Claims, StudentWithoutNoiseNamesWhatItsTeacherLacks) {
  const TrialSpec spec = GradientStudent(Reading::sound);
  const auto example = [&](const std::vector<Claim>& parents) {
    const std::vector<Claim> claims = PlannedClaims(spec, parents);
    return *Find(claims, Adj::example, Nb::replace);
  };
  EXPECT_EQ(example(PlannedClaims(Teacher("plain"))).reason, "not-privately-trained");
  EXPECT_EQ(example({}).reason, "raw-answers");
  TrialSpec seeded = DpSgd(Role::teacher);
  seeded.noise = NoiseMode::seeded;
  for (const Claim& claim : PlannedClaims(spec, PlannedClaims(seeded))) {
    EXPECT_EQ(claim.epsilon, kInfinity);
    EXPECT_EQ(claim.reason, "seeded-noise");
  }
}

TEST(Claims, StudentTakesTheBetterOfItsNoiseAndItsTeachers) {
  const std::vector<Claim> parents = PrivateTeacherClaims();
  TrialSpec loud = GradientStudent(Reading::row_averaged);
  EXPECT_EQ(FindEpsilon(PlannedClaims(loud, parents), Adj::example, Nb::replace),
            FindEpsilon(parents, Adj::example, Nb::replace));
  loud.release.sigma = 1e5;
  const std::vector<Claim> claims = PlannedClaims(loud, parents);
  EXPECT_EQ(FindEpsilon(claims, Adj::example, Nb::replace), FindEpsilon(claims, Adj::teacher, Nb::replace));
  EXPECT_LT(FindEpsilon(claims, Adj::example, Nb::add_remove), 0.1);
}

TEST(Claims, NoClaimIsInheritedFromUnprovenTeachers) {
  const std::vector<Claim> plain = PlannedClaims(Teacher("plain"));
  EXPECT_EQ(FindEpsilon(PlannedClaims(GradientStudent(Reading::sound), plain), Adj::example, Nb::replace), kInfinity);
  TrialSpec direct = GradientStudent(Reading::sound);
  direct.source = QuerySource::private_split;
  const std::vector<Claim> claims = PlannedClaims(direct, PrivateTeacherClaims());
  EXPECT_EQ(FindEpsilon(claims, Adj::example, Nb::replace), kInfinity);
  EXPECT_EQ(Find(claims, Adj::example, Nb::add_remove), nullptr);
  // An unknown void may be such a way.
  const TrialSpec spec = GradientStudent(Reading::sound);
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  events.front().voids = {"read-the-private-files"};
  EXPECT_EQ(FindEpsilon(ComputeClaims({&spec, PrivateTeacherClaims()}, events), Adj::example, Nb::replace), kInfinity);
  // A paper formula or an audit is not a proof to inherit.
  std::vector<Claim> formula = PrivateTeacherClaims();
  for (Claim& claim : formula) claim.status = ClaimStatus::paper_formula;
  EXPECT_EQ(FindEpsilon(PlannedClaims(spec, formula), Adj::example, Nb::replace), kInfinity);
}

TEST(Claims, VotesBoundExamplesUnlessTheyAreZeroed) {
  TrialSpec spec = VoteStudent();
  spec.queries = 5000;
  spec.release.vote_noise = 100;
  const std::vector<Claim> claims = PlannedClaims(spec, PlannedClaims(Teacher("ensemble")));
  EXPECT_DOUBLE_EQ(FindEpsilon(claims, Adj::member, Nb::replace), 4.378);
  EXPECT_DOUBLE_EQ(FindEpsilon(claims, Adj::example, Nb::replace), 4.378);
  EXPECT_LT(FindEpsilon(claims, Adj::member, Nb::zero_out), 3);
  EXPECT_EQ(Find(claims, Adj::example, Nb::zero_out), nullptr);
  EXPECT_THAT(Find(claims, Adj::example, Nb::replace)->assumptions, ::testing::Contains(kAssumeDisjointShards));
  EXPECT_EQ(Find(claims, Adj::teacher, Nb::replace), nullptr);
}

TEST(Claims, EnsembleAnsweringByGradientsBoundsItsMembersToo) {
  const std::vector<Claim> claims =
      PlannedClaims(GradientStudent(Reading::row_averaged), PlannedClaims(Teacher("ensemble")));
  EXPECT_EQ(FindEpsilon(claims, Adj::member, Nb::replace), FindEpsilon(claims, Adj::teacher, Nb::replace));
}

TEST(Claims, DpSgdOfTinyIdealNoiseIsBoundedWithoutSampling) {
  Composition steps;
  steps.subsampled.push_back({0.128, 1e-4, 1'000'000});
  steps.replace_one = true;
  const Bound bound = ComputeBound(steps, 1e-5);
  EXPECT_EQ(bound.accountant, "exact-gdp");
  EXPECT_THAT(bound.reason, ::testing::HasSubstr("sampling left out"));
  EXPECT_NEAR(bound.epsilon, 2e14, 2e10);  // mu is 2 sqrt(steps)/z
}

// What is drawn ends some 13 deviations out.
TEST(Claims, DpSgdOfTinyNoiseHasNoBound) {
  TrialSpec spec = DpSgd(Role::student);
  spec.release.noise_multiplier = 1e-4;
  for (const Claim& claim : PlannedClaims(spec)) EXPECT_EQ(claim.reason, reason::kNoiseEnds);
}

TEST(Claims, WithoutATrialOrARecordedReleaseNothingIsBounded) {
  for (const Claim& claim : ComputeClaims({}, {})) EXPECT_EQ(claim.epsilon, kInfinity);
  const TrialSpec spec = DpSgd(Role::student);
  for (const Claim& claim : ComputeClaims({&spec, {}}, {})) {
    EXPECT_EQ(claim.epsilon, kInfinity);
    EXPECT_EQ(claim.reason, "no-recorded-release");
  }
}

TEST(Claims, ForeignMechanismInTheLedgerIsRefused) {
  const TrialSpec votes = VoteStudent();
  const std::vector<Claim> claims = ComputeClaims({&votes, {}}, PlanEvents(DpSgd(Role::student)).value());
  EXPECT_EQ(Find(claims, Adj::member, Nb::replace)->reason, "unexpected-mechanism");
}

TEST(Claims, MoreReservedThanPlannedCostsMore) {
  const TrialSpec spec = VoteStudent();
  std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  const double before = FindEpsilon(ComputeClaims({&spec, {}}, events), Adj::member, Nb::replace);
  events.push_back(events.front());  // a crash left a reservation spent
  EXPECT_GT(FindEpsilon(ComputeClaims({&spec, {}}, events), Adj::member, Nb::replace), before);
}

TEST(Claims, BatchLargerThanThePrivateSplitCannotBePlanned) {
  TrialSpec spec = DpSgd(Role::student);
  spec.batch = 9000;
  EXPECT_EQ(PlanEvents(spec).status().code(), StatusCode::usage);
}

TEST(ComputeTotalEpsilon, AddsTrialsAndIsInfiniteWhenOneIs) {
  const std::vector<PrivacyEvent> votes = PlanEvents(VoteStudent()).value();
  const std::vector<PrivacyEvent> training = PlanEvents(DpSgd(Role::teacher)).value();
  const double one = ComputeTotalEpsilon({votes}, 1e-5);
  EXPECT_TRUE(std::isfinite(one));
  EXPECT_GT(ComputeTotalEpsilon({votes, votes}, 1e-5), one);
  EXPECT_GT(ComputeTotalEpsilon({votes, training}, 1e-5), one);
  EXPECT_LT(ComputeTotalEpsilon({votes, training}, 1e-5), one + ComputeTotalEpsilon({training}, 1e-5));
  EXPECT_EQ(ComputeTotalEpsilon({}, 1e-5), 0);
  std::vector<PrivacyEvent> seeded = votes;
  seeded.front().source = NoiseSource::seeded;
  EXPECT_EQ(ComputeTotalEpsilon({votes, seeded}, 1e-5), kInfinity);
  EXPECT_EQ(ComputeTotalEpsilon({votes}, 0), kInfinity);
  EXPECT_EQ(ComputeTotalEpsilon({votes}, std::nan("")), kInfinity);
}

// What is calibrated to a budget fits into it.
TEST(ComputeTotalEpsilon, OneTrialCostsWhatItClaims) {
  for (const TrialSpec& spec : {DpSgd(Role::student), DpGd(Role::student)}) {
    const std::vector<PrivacyEvent> events = PlanEvents(spec).value();
    const double claimed = Find(PlannedClaims(spec), Adj::example, Nb::add_remove)->epsilon;
    EXPECT_EQ(ComputeTotalEpsilon({events}, spec.privacy.delta), claimed);
    EXPECT_EQ(FindTotalAboveBudget({events}, {claimed, spec.privacy.delta}), std::nullopt);
    EXPECT_TRUE(FindTotalAboveBudget({events}, {claimed - 1e-3, spec.privacy.delta}).has_value());
  }
}

TEST(FindTotalAboveBudget, AgreesWithTheTotalOnEitherSideOfEveryCap) {
  const std::vector<PrivacyEvent> votes = PlanEvents(VoteStudent()).value();
  std::vector<PrivacyEvent> training = PlanEvents(DpSgd(Role::teacher)).value();
  for (const std::int64_t steps : {1, 30, 1000, 40'000})
    for (const double delta : {1e-9, 1e-5, 0.1}) {
      training.front().count = steps;
      const double total = ComputeTotalEpsilon({votes, training}, delta);
      for (const double cap : {0.0, total / 3, std::nextafter(total, 0.0)})
        EXPECT_EQ(FindTotalAboveBudget({votes, training}, {cap, delta}), total) << cap << " " << delta;
      for (const double cap : {total, std::nextafter(total, kInfinity), total * 1.01, total * 100})
        EXPECT_EQ(FindTotalAboveBudget({votes, training}, {cap, delta}), std::nullopt) << cap << " " << delta;
    }
  EXPECT_EQ(FindTotalAboveBudget({}, {1, 1e-5}), std::nullopt);
  EXPECT_EQ(FindTotalAboveBudget({votes}, {1e6, 0}), kInfinity);
  training.front().source = NoiseSource::seeded;
  EXPECT_EQ(FindTotalAboveBudget({votes, training}, {1e300, 1e-5}), kInfinity);
}

TEST(ComputeTotalEpsilon, StudentOfAPrivateTeacherIsChargedNothingMore) {
  const TrialSpec spec = GradientStudent(Reading::sound);
  const std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  EXPECT_TRUE(ComputeChargedEvents({&spec, PrivateTeacherClaims()}, events).empty());
  EXPECT_EQ(ComputeChargedEvents({&spec, PlannedClaims(Teacher("plain"))}, events).size(), 1U);
  EXPECT_EQ(ComputeTotalEpsilon({events}, 1e-5), kInfinity);
}

TEST(ClaimCache, TellsTeachersApartWhoseShardsFollowExamples) {
  ClaimCache accountant;
  const TrialSpec by_index = Teacher("ensemble");
  TrialSpec moved = by_index;
  auto data = std::make_shared<DataSpec>(*by_index.data);
  data->sensitive_classes = {6};
  moved.data = data;
  for (const TrialSpec* teacher : std::initializer_list<const TrialSpec*>{&by_index, &moved})
    EXPECT_EQ(accountant.ComputeClaims({teacher, {}}, PlanEvents(*teacher).value()), PlannedClaims(*teacher));
}

TEST(ClaimCache, TellsAugmentedDpSgdApart) {
  ClaimCache accountant;
  const TrialSpec plain = DpSgd(Role::teacher);
  TrialSpec augmented = plain;
  augmented.inputs.augment = Augment::affine;
  std::vector<PrivacyEvent> events = PlanEvents(plain).value();
  for (PrivacyEvent& event : events) std::erase(event.facts, kFactPerExampleAugmentation);
  ASSERT_NE(ComputeClaims({&plain, {}}, events), ComputeClaims({&augmented, {}}, events));
  for (const TrialSpec* teacher : std::initializer_list<const TrialSpec*>{&plain, &augmented})
    EXPECT_EQ(accountant.ComputeClaims({teacher, {}}, events), ComputeClaims({teacher, {}}, events));
}

TEST(ClaimCache, TellsEventsApartByEveryField) {
  ClaimCache accountant;
  const TrialSpec spec = DpSgd(Role::student);
  std::vector<PrivacyEvent> lattice = PlanEvents(spec).value(), none = lattice;
  for (PrivacyEvent& event : none) event.granularity = 0;
  ASSERT_NE(ComputeClaims({&spec, {}}, lattice), ComputeClaims({&spec, {}}, none));
  EXPECT_EQ(accountant.ComputeClaims({&spec, {}}, lattice), ComputeClaims({&spec, {}}, lattice));
  EXPECT_EQ(accountant.ComputeClaims({&spec, {}}, none), ComputeClaims({&spec, {}}, none));
}

TEST(ClaimCache, TellsSplitsApartThatFollowLabels) {
  ClaimCache accountant;
  TrialSpec fixed = DpSgd(Role::student);
  fixed.method = "alibi";
  fixed.release.epsilon0 = 1;
  TrialSpec moved = fixed;
  auto data = std::make_shared<DataSpec>(*fixed.data);
  data->sensitive_classes = {6};
  moved.data = data;
  for (const TrialSpec* spec : std::initializer_list<const TrialSpec*>{&fixed, &moved})
    EXPECT_EQ(accountant.ComputeClaims({spec, {}}, PlanEvents(*spec).value()), PlannedClaims(*spec));
}

TEST(ClaimCache, RemembersEqualTrialsAndTellsOthersApart) {
  ClaimCache accountant;
  for (int seed = 0; seed < 100; ++seed) {
    for (const Reading reading : {Reading::working, Reading::row_averaged}) {
      TrialSpec spec = GradientStudent(reading);
      spec.seed = static_cast<std::uint64_t>(seed);
      const std::vector<PrivacyEvent> events = PlanEvents(spec).value();
      EXPECT_EQ(accountant.ComputeClaims({&spec, {}}, events), ComputeClaims({&spec, {}}, events));
    }
  }
  EXPECT_EQ(accountant.computed(), 2U);
  TrialSpec other = GradientStudent(Reading::working);
  other.privacy.delta = 1e-6;
  EXPECT_EQ(accountant.ComputeClaims({&other, {}}, PlanEvents(other).value()), PlannedClaims(other));
  other.release.detach = false;
  EXPECT_EQ(accountant.ComputeClaims({&other, {}}, PlanEvents(other).value()), PlannedClaims(other));
}

}  // namespace
}  // namespace retort::privacy
