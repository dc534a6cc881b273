#include "orchestrator/cli/render/claim_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using privacy::Adjacency;
using privacy::Claim;
using privacy::ClaimStatus;
using privacy::Neighbour;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ClaimText, EveryStatusIsMarkedForWhatItIs) {
  Notes notes;
  EXPECT_EQ(MakeClaimCells(testing::ProvenClaim(Adjacency::example, Neighbour::add_remove, 2.997), notes).epsilon,
            "≤ 2.997");
  EXPECT_EQ(MakeClaimCells(testing::FormulaClaim(0.041), notes).epsilon, "0.041 †");
  EXPECT_EQ(MakeClaimCells(testing::NoClaim(Adjacency::member, "seeded-noise"), notes).epsilon, "∞");
  Claim audited = testing::ProvenClaim(Adjacency::example, Neighbour::replace, 1);
  audited.status = ClaimStatus::audited;
  audited.lower = 0.93;
  EXPECT_EQ(MakeClaimCells(audited, notes).epsilon, "≥ 0.930 (95 %)");
}

TEST(ClaimText, ProvenClaimThatIsNotFiniteHasNoBound) {
  Claim broken = testing::ProvenClaim(Adjacency::example, Neighbour::replace, std::nan(""));
  Notes notes;
  const ClaimCells cells = MakeClaimCells(broken, notes);
  EXPECT_EQ(cells.epsilon, "∞");
  EXPECT_THAT(cells.basis, HasSubstr("no bound"));
}

TEST(ClaimText, CellsCarryAdjacencyNeighbourDeltaAndAccountant) {
  Notes notes;
  const ClaimCells cells = MakeClaimCells(testing::ProvenClaim(Adjacency::member, Neighbour::zero_out, 2), notes);
  EXPECT_EQ(cells.protects, "member");
  EXPECT_EQ(cells.neighbours, "zero-out");
  EXPECT_EQ(cells.delta, "1e-5");
  EXPECT_EQ(cells.basis, "exact-gdp");
}

TEST(ClaimText, EqualReasonsShareAFootnote) {
  Notes notes;
  const std::string first = MakeClaimCells(testing::NoClaim(Adjacency::example, "seeded-noise"), notes).basis;
  const std::string second = MakeClaimCells(testing::NoClaim(Adjacency::member, "seeded-noise"), notes).basis;
  const std::string third = MakeClaimCells(testing::NoClaim(Adjacency::member, "not-privately-trained"), notes).basis;
  EXPECT_EQ(first, "no bound [1]");
  EXPECT_EQ(second, first);
  EXPECT_EQ(third, "no bound [2]");
  EXPECT_EQ(notes.texts().size(), 2U);
}

TEST(ClaimText, ProofArithmeticStandsInTheParagraphOnly) {
  Claim claim = testing::ProvenClaim(Adjacency::example, Neighbour::replace, 3);
  claim.reason = "mu 0.7 over 300 draws";
  Notes notes;
  EXPECT_EQ(MakeClaimCells(claim, notes).basis, "exact-gdp");
  EXPECT_THAT(FormatPrivacyParagraph(claim), HasSubstr("mu 0.7 over 300 draws"));
  claim.assumptions = {"poisson-sampling"};
  EXPECT_EQ(MakeClaimCells(claim, notes).basis, "exact-gdp [1]");
  EXPECT_EQ(notes.texts().at(0), "assumes poisson-sampling");
}

TEST(ClaimText, CompactCellsKeepTheAccountantInTheNote) {
  Notes notes;
  EXPECT_EQ(MakeClaimCells(testing::ProvenClaim(Adjacency::example, Neighbour::replace, 3), notes, true).basis, "[1]");
  EXPECT_THAT(notes.texts().at(0), HasSubstr("exact-gdp"));
}

TEST(ClaimText, UnboundedWithoutAReasonSaysSo) {
  Notes notes;
  EXPECT_EQ(MakeClaimCells(testing::NoClaim(Adjacency::example, ""), notes).basis, "no bound [1]");
  EXPECT_THAT(notes.texts().at(0), Not(IsEmpty()));
}

TEST(ClaimText, ParagraphStatesTheFactorAndItsCondition) {
  const std::string text =
      FormatPrivacyParagraph(testing::ProvenClaim(Adjacency::example, Neighbour::add_remove, 2.997));
  EXPECT_THAT(text, AllOf(HasSubstr("example (add-remove, δ = 1e-5): ε ≤ 2.997 by exact-gdp"),
                          HasSubstr("added or removed"), HasSubstr("e^2.997")));
  EXPECT_THAT(FormatPrivacyParagraph(testing::FormulaClaim(0.041)), HasSubstr("guarantees nothing"));
  EXPECT_THAT(FormatPrivacyParagraph(testing::NoClaim(Adjacency::example, "seeded-noise")), HasSubstr("ε = ∞"));
}

TEST(ClaimText, WorkingStatementGivesItsHonestTeacherEpsilon) {
  const std::string text = FormatWorkingStatement(
      "working",
      {testing::FormulaClaim(0.041), testing::ProvenClaim(Adjacency::teacher, Neighbour::replace, 541289.259)});
  EXPECT_THAT(text, AllOf(HasSubstr("541,289.259"), HasSubstr("teacher, replace, δ = 1e-5"), HasSubstr("far beyond")));
  EXPECT_THAT(FormatWorkingStatement("stated", {testing::NoClaim(Adjacency::teacher, "seeded-noise")}),
              HasSubstr("stated: no finite ε"));
  EXPECT_THAT(FormatWorkingStatement("working", {testing::FormulaClaim(1)}), IsEmpty());
}

}  // namespace
}  // namespace retort::orchestrator::cli
