// The noise that the real path drew has the law that its event in the ledger says; mutants do not.
#include "tests/statistical/drawn_noise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/statistical/noise_checks.h"
#include "tests/statistical/not_private.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/noisy_votes.h"

namespace retort::worker::release::drawn_noise_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kRows = 256, kClasses = 10, kSteps = 80;

GradientSettings Settings(Reading reading = Reading::working) {
  GradientSettings settings;
  settings.reading = reading;
  settings.batch = kRows;
  settings.classes = kClasses;
  return settings;
}

std::unique_ptr<Mechanism> Gradient(const GradientSettings& settings, noise::NoiseKey key) {
  return GaussianGradient::Create(settings, std::move(key)).value();
}

noise::NoiseKey Seeded() { return noise::NoiseKey::FromSeed(2024, TrialId(7)); }

Drawn Draw(Mechanism& mechanism) { return DrawGradientNoise(mechanism, kSteps, kRows, kClasses); }

TEST(DrawnNoise, WorkingReadingIsWhatItsEventSays) {
  const auto mechanism = Gradient(Settings(), Seeded());
  const Drawn drawn = Draw(*mechanism);
  EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), IsEmpty());
}

TEST(DrawnNoise, WorkingReadingWithASecureKeyIsWhatItsEventSays) {
  const auto mechanism = Gradient(Settings(), noise::NoiseKey::FromOperatingSystem());
  const Drawn drawn = Draw(*mechanism);
  EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), IsEmpty());
  EXPECT_EQ(drawn.event.source, privacy::NoiseSource::secure_lattice);
}

TEST(DrawnNoise, RowAveragedReadingIsWhatItsEventSays) {
  const auto mechanism = Gradient(Settings(Reading::row_averaged), Seeded());
  const Drawn drawn = DrawGradientNoise(*mechanism, kSteps, kRows, kClasses, kRows);
  EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), IsEmpty());
}

TEST(DrawnNoise, PrintedReadingDrawsOneVectorABatchAsItsEventSays) {
  const auto mechanism = Gradient(Settings(Reading::printed), Seeded());
  const Drawn drawn = DrawGradientNoise(*mechanism, 3000, 2, kClasses, kRows, true);
  EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), IsEmpty());
  EXPECT_EQ(drawn.event.unit, privacy::EventUnit::batch);
}

TEST(DrawnNoise, VotesAreWhatTheirEventSays) {
  for (const double scale : {0.4, 40.0}) {
    const auto mechanism = NoisyVotes::Create({scale, kClasses}, Seeded()).value();
    const Drawn drawn = DrawVoteNoise(*mechanism, kSteps, kRows, kClasses);
    // Rounding to the lattice adds 1/12 only once the scale is not small against the lattice.
    if (scale > 1) {
      EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), IsEmpty());
    } else {
      EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), HasSubstr("variance"));
    }
  }
}

TEST(DrawnNoise, ProbabilitiesAreWhatTheirEventSays) {
  const auto mechanism = NoisyVotes::Create({2, kClasses, 32}, Seeded()).value();
  const Drawn drawn = DrawVoteNoise(*mechanism, kSteps, kRows, kClasses, 32);
  EXPECT_EQ(drawn.event.noise_std, 64);
  EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), IsEmpty());
}

TEST(DrawnNoise, DpSgdIsWhatItsEventSays) {
  DpSgdSettings settings;
  settings.coordinates = 40;
  DpSgdStep mechanism = DpSgdStep::Create(settings, Seeded()).value();
  const Drawn drawn = DrawDpSgdNoise(mechanism, 20'000);
  EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), IsEmpty());
}

class Mutants : public ::testing::Test {
 protected:
  privacy::PrivacyEvent Claimed() { return Gradient(Settings(), Seeded())->Describe(1); }
  Alarm Check(Mechanism& mutant) {
    const Drawn drawn = Draw(mutant);
    return CheckAgainstEvent(drawn.draws, drawn.event);
  }
};

TEST_F(Mutants, FaithfulDoubleRaisesNoAlarm) {
  NotPrivateMechanism faithful(Claimed(), Gradient(Settings(), Seeded()));
  EXPECT_THAT(Check(faithful), IsEmpty());
}

TEST_F(Mutants, HalvedSigmaIsCaught) {
  GradientSettings halved = Settings();
  halved.sigma /= 2;
  NotPrivateMechanism mutant(Claimed(), Gradient(halved, Seeded()));
  EXPECT_THAT(Check(mutant), HasSubstr("variance"));
}

TEST_F(Mutants, SigmaSmallerByFourPercentIsCaught) {
  GradientSettings smaller = Settings();
  smaller.sigma *= 0.96;
  NotPrivateMechanism mutant(Claimed(), Gradient(smaller, Seeded()));
  EXPECT_THAT(Check(mutant), HasSubstr("variance"));
}

TEST_F(Mutants, ScalarNoiseBroadcastOverClassesIsCaught) {
  NotPrivateBroadcast mutant(Claimed(), Gradient(Settings(), Seeded()));
  EXPECT_THAT(Check(mutant), HasSubstr("correlation"));
}

TEST_F(Mutants, NoiseReusedAcrossRowsIsCaught) {
  NotPrivateReuseAcrossRows mutant(Claimed(), Gradient(Settings(), Seeded()));
  EXPECT_THAT(Check(mutant), Not(IsEmpty()));
}

TEST_F(Mutants, NoiseReusedAcrossStepsIsCaught) {
  NotPrivateReuseAcrossSteps mutant(Claimed(), Gradient(Settings(), Seeded()));
  EXPECT_THAT(Check(mutant), Not(IsEmpty()));
}

TEST_F(Mutants, NoiseDividedByBTwiceIsCaught) {
  GradientSettings twice = Settings();
  twice.sigma /= static_cast<double>(kRows);
  NotPrivateMechanism mutant(Claimed(), Gradient(twice, Seeded()));
  EXPECT_THAT(Check(mutant), HasSubstr("variance"));
}

// The printed reading, whose one vector covers a batch, under the event of the row-averaged one.
TEST_F(Mutants, OneNoiseVectorForTheBatchCountedPerRowIsCaught) {
  const auto per_row = Gradient(Settings(Reading::row_averaged), Seeded());
  NotPrivateMechanism mutant(per_row->Describe(1), Gradient(Settings(Reading::printed), Seeded()));
  const Drawn drawn = DrawGradientNoise(mutant, kSteps, kRows, kClasses, kRows);
  EXPECT_EQ(drawn.event.unit, privacy::EventUnit::row);
  EXPECT_THAT(CheckAgainstEvent(drawn.draws, drawn.event), Not(IsEmpty()));
}

// Two fresh processes of one trial: each makes its mechanism from the spec alone.
Alarm FindSource(const std::function<std::unique_ptr<Mechanism>()>& make) {
  const auto first = make(), second = make();
  const Drawn a = DrawGradientNoise(*first, 2, kRows, kClasses), b = DrawGradientNoise(*second, 2, kRows, kClasses);
  return CheckSource(a.event, a.draws, b.draws);
}

TrialSpec Spec(NoiseMode noise) {
  TrialSpec spec;
  spec.batch = kRows;
  spec.seed = 3;
  spec.noise = noise;
  return spec;
}

TEST(NoiseSource, SecureAndSeededTrialsAreWhatTheirEventsSay) {
  for (const NoiseMode mode : {NoiseMode::secure, NoiseMode::seeded}) {
    const TrialSpec spec = Spec(mode);
    EXPECT_THAT(FindSource([&] { return MakeMechanism(spec, kClasses, 1, MakeNoiseKey(spec)).value(); }), IsEmpty());
  }
}

// The second attempt draws from the key of the first, which nobody else knows.
TEST_F(Mutants, KeyReusedAcrossAttemptsIsCaught) {
  const auto attempt = [] {
    privacy::PrivacyEvent claimed = Gradient(Settings(), noise::NoiseKey::FromOperatingSystem())->Describe(1);
    return std::make_unique<NotPrivateMechanism>(claimed, Gradient(Settings(), Seeded()));
  };
  EXPECT_THAT(FindSource(attempt), HasSubstr("the same noise"));
}

TEST_F(Mutants, SeededSourceCalledSecureIsCaught) {
  const TrialSpec spec = Spec(NoiseMode::seeded);
  const auto alarm = FindSource([&]() -> std::unique_ptr<Mechanism> {
    auto inner = MakeMechanism(spec, kClasses, 1, MakeNoiseKey(spec)).value();
    privacy::PrivacyEvent claimed = inner->Describe(1);
    claimed.source = privacy::NoiseSource::secure_lattice;
    return std::make_unique<NotPrivateMechanism>(claimed, std::move(inner));
  });
  EXPECT_THAT(alarm, HasSubstr("secure"));
}

}  // namespace
}  // namespace retort::worker::release::drawn_noise_test
