// The audit of release steps that `retort audit` runs: tight where a proof exists, loud where the noise is not what
// the event says.
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/privacy/audit_report.h"
#include "tests/statistical/not_private.h"
#include "worker/audit/release_step.h"
#include "worker/audit/step_pairs.h"
#include "worker/release/gaussian_gradient.h"

namespace retort::worker::audit::step_audit_test {
namespace {

constexpr std::int64_t kClasses = 10;

TrialSpec GradientSpec(Reading reading) {
  TrialSpec spec;
  spec.reading = reading;
  return spec;
}

TrialSpec VoteSpec() {
  TrialSpec spec = GradientSpec(Reading::sound);
  spec.queries = 1;
  return spec;
}

privacy::AuditFinding Audit(const TrialSpec& spec, double mu, std::int64_t samples, std::int64_t classes = kClasses) {
  const ScaledStep step = ScaleStep(spec, classes, mu);
  Result<privacy::AuditFinding> finding =
      AuditReleaseStep(MakeMechanismMaker(step, classes), step.pair, {.samples = samples});
  EXPECT_TRUE(finding.ok()) << finding.status().message();
  EXPECT_NEAR(finding->mu_proven.value_or(0), mu, 1e-12 * mu);
  return std::move(finding).value();
}

void ExpectTightAndTrue(const privacy::AuditFinding& finding) {
  EXPECT_EQ(privacy::FindContradiction(finding), "");
  EXPECT_EQ(privacy::FormatVerdict(finding), "no leak detected at this power");
  EXPECT_GE(ComputePower(finding), 0.95) << "the audit has lost its power";
  EXPECT_GT(finding.claim->lower.value_or(0), 0.25 * *finding.proven);
  EXPECT_LE(*finding.alarm_lower, finding.claim->lower.value_or(0));
  ::testing::Test::RecordProperty("mu_lower", std::to_string(*finding.mu_lower));
}

TEST(StepAudit, WorkingGradientLeaksNoMoreThanClaimed) {
  ExpectTightAndTrue(Audit(GradientSpec(Reading::working), 2, 100'000));
  ExpectTightAndTrue(Audit(GradientSpec(Reading::working), 4, 100'000));
}

TEST(StepAudit, StatedGradientLeaksNoMoreThanClaimed) {
  ExpectTightAndTrue(Audit(GradientSpec(Reading::stated), 2, 100'000));
}

TEST(StepAudit, RowAveragedGradientLeaksNoMoreThanClaimed) {
  ExpectTightAndTrue(Audit(GradientSpec(Reading::row_averaged), 2, 100'000));
}

TEST(StepAudit, PrintedBatchGivesAwayWhatItsEventClaimsAndNoMore) {
  ExpectTightAndTrue(Audit(GradientSpec(Reading::printed), 3, 50'000));
}

TEST(StepAudit, FrobeniusBatchGivesAwayWhatItsEventClaimsAndNoMore) {
  TrialSpec spec = GradientSpec(Reading::working);
  spec.release.normalization = Normalization::frobenius;
  const privacy::AuditFinding finding = Audit(spec, 3, 15'000);
  EXPECT_EQ(privacy::FindContradiction(finding), "");
  EXPECT_GE(ComputePower(finding), 0.85);
  ::testing::Test::RecordProperty("mu_lower", std::to_string(*finding.mu_lower));
}

TEST(StepAudit, EnsembleSumLeaksNoMoreThanClaimed) {
  TrialSpec spec = GradientSpec(Reading::working);
  spec.method = "dpdfd-ensemble";
  ExpectTightAndTrue(Audit(spec, 2, 100'000));
  spec.release.top_k = 2;
  ExpectTightAndTrue(Audit(spec, 2, 100'000));
}

// Two thirds of the noise on the sum are not the turned member's own: a server that sees its answer sees more.
TEST(StepAudit, SumOfClientsThatDrawForThemselvesGivesAwayLess) {
  TrialSpec spec = GradientSpec(Reading::working);
  spec.method = "feddpsd";
  const privacy::AuditFinding finding = Audit(spec, 3, 50'000);
  EXPECT_EQ(privacy::FindContradiction(finding), "");
  EXPECT_NEAR(ComputePower(finding), 1 / std::sqrt(3.0), 0.05);
  ::testing::Test::RecordProperty("mu_lower", std::to_string(*finding.mu_lower));
}

// The equations by the letter: by probabilities, the largest values, over the norm of the batch.
TEST(StepAudit, LiteralEquationsLeakNoMoreThanClaimed) {
  for (const char* method : {"dpdfd", "dpsd-data"}) {
    TrialSpec spec = GradientSpec(Reading::printed);
    spec.method = method;
    spec.release.normalization = Normalization::frobenius;
    spec.release.gradient_of = GradientOf::probabilities;
    if (spec.method == "dpsd-data") {
      spec.distill.loss = DistillationLoss::dkd_printed;
      spec.release.top_k = 3;
      spec.release.mask_by = MaskBy::value;
    }
    EXPECT_EQ(privacy::FindContradiction(Audit(spec, 3, 20'000)), "") << method;
  }
}

TEST(StepAudit, PrintedBatchLeaksNoMoreThanClaimed) {
  TrialSpec spec = GradientSpec(Reading::printed);
  spec.method = "dpsd-data";
  ExpectTightAndTrue(Audit(spec, 3, 50'000));
}

TEST(StepAudit, MaskedGradientGivesAwayWhatItsEventClaimsAndNoMore) {
  TrialSpec spec = GradientSpec(Reading::working);
  spec.method = "dpsd-data";
  spec.release.top_k = 2;
  ExpectTightAndTrue(Audit(spec, 2, 100'000));
}

TEST(StepAudit, VoteHistogramGivesAwayWhatItsEventClaimsAndNoMore) {
  ExpectTightAndTrue(Audit(VoteSpec(), 2, 80'000, 3));
}

TEST(StepAudit, DpSgdStepGivesAwayWhatItsEventClaimsAndNoMore) {
  TrialSpec spec;
  const auto finding = AuditDpSgdStep(MakeScaledDpSgdStep(spec, 3), spec.release.norm_bound, {.samples = 50'000});
  ASSERT_TRUE(finding.ok());
  EXPECT_DOUBLE_EQ(*finding->mu_proven, 3);
  ExpectTightAndTrue(*finding);
}

// `claimed` describes, and half the noise is drawn.
privacy::AuditFinding AuditHalved(const TrialSpec& spec, double mu) {
  const ScaledStep claimed = ScaleStep(spec, kClasses, mu), drawn = ScaleStep(spec, kClasses, 2 * mu);
  const MechanismMaker make = [&]() -> Result<std::unique_ptr<release::Mechanism>> {
    auto says = MakeMechanismMaker(claimed, kClasses)();
    auto does = MakeMechanismMaker(drawn, kClasses)();
    return std::unique_ptr<release::Mechanism>(
        std::make_unique<release::NotPrivateMechanism>(says.value()->Describe(1), std::move(does).value()));
  };
  return AuditReleaseStep(make, claimed.pair, {.samples = 20'000}).value();
}

TEST(StepAudit, HalvedNoiseSetsOffTheAlarm) {
  for (const Reading reading : {Reading::working, Reading::stated, Reading::row_averaged}) {
    const privacy::AuditFinding finding = AuditHalved(GradientSpec(reading), 2);
    EXPECT_GT(*finding.mu_lower, 1.5 * *finding.mu_proven);
    EXPECT_NE(privacy::FindContradiction(finding).find("the claim says mu <= 2"), std::string::npos);
    EXPECT_NE(privacy::FormatVerdict(finding).find("LEAK"), std::string::npos);
  }
}

// Without any noise every score tells: epsilon itself is refuted, too.
TEST(StepAudit, MissingNoiseRefutesEpsilonToo) {
  const ScaledStep claimed = ScaleStep(GradientSpec(Reading::working), kClasses, 0.5);
  const ScaledStep drawn = ScaleStep(GradientSpec(Reading::working), kClasses, 1000);
  const MechanismMaker make = [&]() -> Result<std::unique_ptr<release::Mechanism>> {
    auto says = MakeMechanismMaker(claimed, kClasses)();
    auto does = MakeMechanismMaker(drawn, kClasses)();
    return std::unique_ptr<release::Mechanism>(
        std::make_unique<release::NotPrivateMechanism>(says.value()->Describe(1), std::move(does).value()));
  };
  const privacy::AuditFinding finding = AuditReleaseStep(make, claimed.pair, {.samples = 20'000}).value();
  EXPECT_GT(*finding.alarm_lower, *finding.proven);
}

// Two teachers of which one says numbers that the temperature makes overflow, asked at a distillation loss.
NeighbourPair OverflowingAnswers(std::int64_t rows) {
  NeighbourPair pair = MakeOppositeLabelPair(rows, kClasses, 1);
  pair.one = at::zeros({rows, kClasses});
  pair.one.select(1, 0).fill_(2e38f);
  pair.other = pair.one.clone();
  pair.other.select(1, 0).fill_(5);
  return pair;
}

release::GradientSettings OverflowingSettings() {
  release::GradientSettings settings;
  settings.loss = DistillationLoss::kd;
  settings.temperature = 0.5;
  settings.batch = 256;
  settings.classes = kClasses;
  settings.sigma = 2 * 256 / 0.5;  // mu 0.5 for a row
  return settings;
}

MechanismMaker OverflowingMaker() {
  return [] {
    Result<std::unique_ptr<release::GaussianGradient>> made =
        release::GaussianGradient::Create(OverflowingSettings(), noise::NoiseKey::FromOperatingSystem());
    return Result<std::unique_ptr<release::Mechanism>>(std::move(made).value());
  };
}

TEST(StepAudit, AnswersThatOverflowLeaveWithinTheNoise) {
  NeighbourPair pair = OverflowingAnswers(256);
  for (int side = 0; side < 2; ++side, std::swap(pair.one, pair.other)) {
    const privacy::AuditFinding finding = AuditReleaseStep(OverflowingMaker(), pair, {.samples = 20'000}).value();
    EXPECT_EQ(privacy::FindContradiction(finding), "");
  }
}

// Rows that nothing measures before the noise: a NaN plus noise is a NaN, and an outcome that one teacher alone has.
TEST(StepAudit, RowsThatAreNotMeasuredBeforeTheNoiseAreCaught) {
  const MechanismMaker make = [] {
    release::GradientSettings settings = OverflowingSettings();
    settings.detach = false;  // the release that keeps its graph is not bounded on the lattice
    auto spoiled = release::GaussianGradient::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
    return Result<std::unique_ptr<release::Mechanism>>(
        std::make_unique<release::NotPrivateMechanism>(OverflowingMaker()().value()->Describe(1), std::move(spoiled)));
  };
  NeighbourPair pair = OverflowingAnswers(256);
  for (int side = 0; side < 2; ++side, std::swap(pair.one, pair.other)) {
    const privacy::AuditFinding finding = AuditReleaseStep(make, pair, {.samples = 20'000}).value();
    EXPECT_GT(*finding.alarm_lower, *finding.proven);
  }
}

TEST(StepAudit, SeededNoiseIsNotAudited) {
  const ScaledStep step = ScaleStep(GradientSpec(Reading::working), kClasses, 2);
  const MechanismMaker make = [&step] {
    return release::MakeMechanism(step.spec, kClasses, 1, noise::NoiseKey::FromSeed(1, TrialId(2)));
  };
  const auto finding = AuditReleaseStep(make, step.pair, {.samples = 1000});
  EXPECT_EQ(finding.status().code(), StatusCode::refused);
}

}  // namespace
}  // namespace retort::worker::audit::step_audit_test
