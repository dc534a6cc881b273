#include "experiments/privacy/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/privacy/accountants/reasons.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;

Claim Proven() {
  Claim claim;
  claim.adjacency = Adjacency::example;
  claim.neighbour = Neighbour::add_remove;
  claim.delta = 1e-5;
  claim.epsilon = 2.997;
  claim.status = ClaimStatus::proven;
  claim.accountant = "rdp";
  claim.units = "one training example";
  return claim;
}

TEST(PrivacyStatement, OneLineSaysEverythingThatBelongsToAnEpsilon) {
  EXPECT_EQ(FormatStatementLine(Proven()), "ε ≤ 2.997 (example, add-remove, δ=1e-05, rdp)");
}

TEST(PrivacyStatement, PaperFormulasAreMarkedAndNoGuarantee) {
  Claim claim = Proven();
  claim.status = ClaimStatus::paper_formula;
  claim.accountant = "paper:dpdfd-thm3";
  EXPECT_EQ(FormatStatementLine(claim), "ε = 2.997† (example, add-remove, δ=1e-05, paper:dpdfd-thm3, not a guarantee)");
}

TEST(PrivacyStatement, AFormulaOfALabelSaysThatPicturesArePublic) {
  Claim claim = Proven();
  claim.status = ClaimStatus::paper_formula;
  claim.adjacency = Adjacency::label;
  EXPECT_THAT(FormatStatementSentence(claim), HasSubstr("gives 2.997† here for a label alone (pictures are public)."));
}

TEST(PrivacyStatement, ADeltaThatIsNotStatedIsNotZero) {
  Claim claim = Proven();
  EXPECT_EQ(FormatDelta(claim), "1e-5");
  claim.status = ClaimStatus::paper_formula;
  claim.delta = 0;
  claim.accountant = "quoted:p/t";
  EXPECT_EQ(FormatDelta(claim), "0");
  claim.delta_stated = false;
  EXPECT_EQ(FormatDelta(claim), "not stated");
  EXPECT_EQ(FormatStatementLine(claim), "ε = 2.997† (example, add-remove, δ not stated, quoted:p/t, not a guarantee)");
}

TEST(PrivacyStatement, UnboundedClaimsGiveTheirReason) {
  Claim claim;
  claim.reason = "seeded-noise";
  EXPECT_EQ(FormatStatementLine(claim), "ε = ∞ (seeded-noise; example, replace)");
  EXPECT_THAT(FormatStatementSentence(claim), HasSubstr("whoever knows the seed"));
}

TEST(PrivacyStatement, AuditsAreLowerBoundsRoundedDown) {
  Claim claim = Proven();
  claim.status = ClaimStatus::audited;
  claim.lower = 1.2999;
  EXPECT_THAT(FormatStatementLine(claim), HasSubstr("≥ 1.299"));
}

TEST(PrivacyStatement, HugeEpsilonIsCalledWhatItIs) {
  const std::vector<Claim> claims = PlannedClaims(GradientStudent(Reading::working));
  const Claim* teacher = Find(claims, Adjacency::teacher, Neighbour::replace);
  EXPECT_THAT(FormatStatementLine(*teacher), HasSubstr("ε ≤ 541289.259 (teacher, replace, δ=1e-05, exact-gdp)"));
  EXPECT_THAT(FormatStatementSentence(*teacher), HasSubstr("protects nothing in practice"));
  EXPECT_THAT(FormatStatementSentence(*Find(claims, Adjacency::answer, Neighbour::answer)),
              HasSubstr("no training example"));
}

TEST(PrivacyStatement, DeltaAboveOneOverNIsWarnedOf) {
  EXPECT_EQ(FormatDeltaWarning(Proven(), 8000), "");
  EXPECT_THAT(FormatDeltaWarning(Proven(), 162'000), HasSubstr("larger than 1/N"));
}

TEST(PrivacyStatement, EveryReasonHasASentence) {
  for (const std::string_view name : {reason::kSeededNoise,      reason::kRawAnswers,
                                      reason::kNoNoise,          reason::kNoNoiseSource,
                                      reason::kBroadcastNoise,   reason::kNotFinite,
                                      reason::kBadEvent,         reason::kBadDelta,
                                      reason::kNoRelease,        reason::kNotPrivatelyTrained,
                                      reason::kPrivateSource,    reason::kUnexpectedMechanism,
                                      reason::kLossNoise,        reason::kNoBound,
                                      reason::kUndefinedFormula, reason::kNoSpec,
                                      kVoidTeacherJacobian,      kVoidGeneratorTouchedTeacher,
                                      kVoidSoftOutput,           kVoidSupportLeak,
                                      kVoidNoiseReused}) {
    EXPECT_NE(DescribeReason(name), name) << name;
  }
  EXPECT_EQ(DescribeReason("unheard-of"), "unheard-of");
}

}  // namespace
}  // namespace retort::privacy
