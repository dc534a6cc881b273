#include "orchestrator/results/tables/statistics.h"

#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using privacy::Adjacency;
using privacy::Claim;
using privacy::ClaimStatus;
using privacy::Neighbour;

Claim Proven(double epsilon, const std::string& accountant = "exact-gdp") {
  Claim claim = testing::ProvenClaim(Adjacency::example, Neighbour::replace, epsilon);
  claim.accountant = accountant;
  return claim;
}

TEST(WorstClaims, LargestEpsilonOfTheSeedsCounts) {
  const std::vector<Claim> worst = FindWorstClaims({{Proven(2.9)}, {Proven(3.1)}, {Proven(2.9)}});
  ASSERT_EQ(worst.size(), 1U);
  EXPECT_EQ(worst[0].epsilon, 3.1);
}

TEST(WorstClaims, GuaranteeThatOneTrialLacksIsUnboundedForAll) {
  const auto other = testing::ProvenClaim(Adjacency::example, Neighbour::add_remove, 1.0);
  for (const auto& worst :
       {FindWorstClaims({{Proven(3), other}, {Proven(3)}}), FindWorstClaims({{Proven(3)}, {Proven(3), other}})}) {
    ASSERT_EQ(worst.size(), 2U);
    EXPECT_EQ(worst[0].epsilon, 3);
    EXPECT_EQ(worst[1].neighbour, Neighbour::add_remove);
    EXPECT_EQ(worst[1].status, ClaimStatus::unbounded);
    EXPECT_FALSE(worst[1].reason.empty());
  }
}

TEST(WorstClaims, OneUnboundedSeedMakesTheCellUnboundedWithItsReason) {
  const auto none = testing::NoClaim(Adjacency::example, "seeded-noise");
  for (const auto& worst : {FindWorstClaims({{Proven(2.9)}, {none}}), FindWorstClaims({{none}, {Proven(2.9)}})}) {
    ASSERT_EQ(worst.size(), 1U);
    EXPECT_EQ(worst[0].status, ClaimStatus::unbounded);
    EXPECT_EQ(worst[0].reason, "seeded-noise");
  }
}

TEST(WorstClaims, AccountantsThatAllTrialsHaveStandSideBySide) {
  const std::vector<Claim> both = {Proven(2, "rdp"), Proven(1.9, "pld")};
  const std::vector<Claim> worst = FindWorstClaims({both, {Proven(1.8, "pld"), Proven(2.1, "rdp")}});
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0].epsilon, 2.1);
  EXPECT_EQ(worst[1].epsilon, 1.9);
}

TEST(WorstClaims, LargestOfTheTrialsBestClaimsCounts) {
  const std::vector<Claim> worst = FindWorstClaims({{Proven(2, "rdp"), Proven(1.9, "exact-gdp")}, {Proven(5, "pld")}});
  ASSERT_EQ(worst.size(), 1U);
  EXPECT_EQ(worst[0].epsilon, 5);
  EXPECT_EQ(worst[0].accountant, "pld");
}

TEST(WorstClaims, FormulaAndProvenOfOneAdjacencyStayApart) {
  EXPECT_EQ(FindWorstClaims({{testing::FormulaClaim(5), Proven(1)}}).size(), 2U);
}

}  // namespace
}  // namespace retort::orchestrator::cli
