#include "experiments/methods/methods.h"
#include "experiments/methods/presets.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string FormatTrialStatement(const TrialSpec& spec, const std::vector<Claim>& teacher = {}) {
  const std::vector<PrivacyEvent> events = PlanEvents(spec).value();
  return WriteTrialStatement(spec, ComputeClaims({&spec, teacher}, events), events);
}

TEST(WriteTrialStatement, DpSgdNamesSamplingNoiseNeighboursAndAccountant) {
  TrialSpec spec = DpSgd(Role::student);
  spec.release.noise_multiplier = 2.0073;
  const std::string text = FormatTrialStatement(spec);
  EXPECT_THAT(text, HasSubstr("Released: 80 sums of gradients"));
  EXPECT_THAT(text, HasSubstr("each example with probability 0.128"));
  EXPECT_THAT(text, HasSubstr("Proven when one training example is added or removed: epsilon at most "));
  EXPECT_THAT(text, HasSubstr(" at delta 1e-05, by pld"));
  EXPECT_THAT(text, HasSubstr("poisson-sampling"));
  EXPECT_THAT(text, HasSubstr("the number of private examples"));
  EXPECT_THAT(text, Not(HasSubstr("No finite epsilon")));
}

TEST(WriteTrialStatement, AnEmbeddingIsNoSumOfGradients) {
  for (const char* method : {"dp-merf", "dp-spectral"}) {
    TrialSpec spec = DpSgd(Role::student);
    spec.method = method;
    spec.source = method == std::string("dp-merf") ? QuerySource::private_split : QuerySource::public_split;
    spec.release.noise_multiplier = 5;
    const std::string text = FormatTrialStatement(spec);
    EXPECT_THAT(
        text, HasSubstr("Released: 1 sum by class of vectors of the examples, of sensitivity 1 with Gaussian noise of "
                        "standard deviation 5, over all examples."));
    EXPECT_THAT(text, Not(HasSubstr("gradients")));
  }
}

// The number of examples is no secret under add-remove, nor is what is said of the set as a whole.
TEST(WriteTrialStatement, WhatIsNotCoveredNamesTheDataSetAsAWhole) {
  for (const TrialSpec& spec : {DpSgd(Role::student), DpGd(Role::student)}) {
    const std::string text = FormatTrialStatement(spec);
    EXPECT_THAT(text, HasSubstr("the number of private examples"));
    EXPECT_THAT(text, HasSubstr("its digest, its classes"));
  }
  EXPECT_THAT(FormatTrialStatement(VoteStudent()), Not(HasSubstr("the number of private examples")));
  EXPECT_THAT(FormatTrialStatement(VoteStudent()), HasSubstr("that none of them is private"));
}

TEST(WriteTrialStatement, VotesNameTheMemberAndTheShards) {
  const std::string text = FormatTrialStatement(VoteStudent());
  EXPECT_THAT(text, HasSubstr("Released: 300 vote histograms"));
  EXPECT_THAT(text, HasSubstr("one teacher of the ensemble is silenced"));
  EXPECT_THAT(text, HasSubstr("disjoint-shards-by-index"));
  EXPECT_THAT(text, HasSubstr("the public examples"));
}

TEST(WriteTrialStatement, AnswersAreSaidToProtectNobodyAndTheFormulaNothing) {
  const std::string text = FormatTrialStatement(GradientStudent(Reading::working));
  EXPECT_THAT(text, HasSubstr("once for a row, in batches of 256"));
  EXPECT_THAT(text, HasSubstr("this protects no person"));
  EXPECT_THAT(text, HasSubstr("which guarantees nothing"));
  EXPECT_THAT(text, HasSubstr("Not covered: "));
}

TEST(WriteTrialStatement, WhatHasNoBoundSaysWhyAndShowsNoNumberForPeople) {
  TrialSpec spec = GradientStudent(Reading::printed);
  spec.noise = NoiseMode::seeded;
  const std::string text = FormatTrialStatement(spec);
  EXPECT_THAT(text, HasSubstr("from a seed, drawn 160 times, once for a batch of 256"));
  EXPECT_THAT(text, HasSubstr("No finite epsilon holds for one training example. The noise came from a seed"));
  EXPECT_THAT(text, Not(HasSubstr("epsilon at most")));
}

TEST(WriteTrialStatement, TeacherWithoutNoiseReleasesNothingAndClaimsNothing) {
  TrialSpec spec = GradientStudent(Reading::working);
  spec.role = Role::teacher;
  spec.method = "plain";
  const std::string text = FormatTrialStatement(spec);
  EXPECT_THAT(text, HasSubstr("charged no release"));
  EXPECT_THAT(text, HasSubstr("trained on private examples without noise"));
}

TEST(WriteTrialStatement, LargeDeltaIsWarnedOf) {
  TrialSpec spec = VoteStudent();
  spec.privacy.delta = 1e-3;
  EXPECT_THAT(FormatTrialStatement(spec), HasSubstr("larger than 1/N for the 8000 private examples"));
  spec = GradientStudent(Reading::working);
  spec.method = "dp-dfd";
  spec.privacy.delta = 1e-3;
  EXPECT_THAT(FormatTrialStatement(spec), HasSubstr("larger than 1/N"))
      << "the formula's claim, which is first, has none";
}

TEST(WriteTrialStatement, AFormulaOfALabelIsSaidToBeOne) {
  TrialSpec spec = GradientStudent(Reading::working);
  spec.method = "dp-dfd";
  ApplyPreset(spec, FindKind(spec));
  spec.release.epsilon0 = 1;
  const std::string text = FormatTrialStatement(spec);
  EXPECT_THAT(text, HasSubstr("No finite epsilon holds for one training example."));
  EXPECT_THAT(text, HasSubstr("(paper:dp-dfd) gives 1.000† for a label alone (pictures are public) at delta 0 here"));
}

}  // namespace
}  // namespace retort::privacy
