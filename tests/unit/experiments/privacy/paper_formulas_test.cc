#include "experiments/privacy/paper_formulas.h"

#include <gtest/gtest.h>

#include <cmath>

namespace retort::privacy {
namespace {

GradientFormula Published() {
  GradientFormula formula;
  formula.norm_bound = 1e-3;
  formula.sigma = 100;
  formula.classes = 10;
  formula.rows = 256 * 200;
  formula.delta = 1e-5;
  return formula;
}

TEST(PaperFormula, PublishedSettingsDoNotGiveThePublishedEpsilon) {
  EXPECT_NEAR(ComputeGradientFormulaEpsilon(Published())->epsilon, 0.0456348706324, 1e-12);
  GradientFormula larger = Published();
  larger.norm_bound = 5e-3;
  EXPECT_NEAR(ComputeGradientFormulaEpsilon(larger)->epsilon, 0.261442352573673, 1e-12);
}

TEST(PaperFormula, MinimumIsBelowEveryOtherLambda) {
  const double least = ComputeGradientFormulaEpsilon(Published())->epsilon;
  for (double lambda = 1.1; lambda < 1e6; lambda *= 1.3) {
    EXPECT_GE(*EvaluateGradientFormula(Published(), lambda), least * (1 - 1e-12)) << lambda;
  }
}

TEST(PaperFormula, LambdaOfOneIsRefused) {
  EXPECT_FALSE(EvaluateGradientFormula(Published(), 1).ok());
  EXPECT_FALSE(EvaluateGradientFormula(Published(), 0.5).ok());
  EXPECT_FALSE(EvaluateGradientFormula(Published(), std::nan("")).ok());
  EXPECT_TRUE(EvaluateGradientFormula(Published(), 1.5).ok());
}

TEST(PaperFormula, UndefinedParametersAreRefused) {
  GradientFormula formula = Published();
  formula.sigma = 0;
  EXPECT_EQ(ComputeGradientFormulaEpsilon(formula).status().code(), StatusCode::usage);
  formula = Published();
  formula.delta = 0;
  EXPECT_FALSE(ComputeGradientFormulaEpsilon(formula).ok());
  formula = Published();
  formula.norm_bound = std::nan("");
  EXPECT_FALSE(ComputeGradientFormulaEpsilon(formula).ok());
  EXPECT_FALSE(ComputeRonaFormulaEpsilon(0.5, 3200, 1e-5, 0).ok());
  EXPECT_FALSE(LabelFormulaEpsilon(0).ok());
}

TEST(PaperFormula, StepsThatEpsilonOneAndTenWouldBuy) {
  GradientFormula formula = Published();
  EXPECT_NEAR(*ComputeGradientFormulaRows(formula, 1) / 256, 59681, 1);
  formula.norm_bound = 5e-3;
  EXPECT_NEAR(*ComputeGradientFormulaRows(formula, 1) / 256, 2387, 1);
  EXPECT_NEAR(*ComputeGradientFormulaRows(formula, 10) / 256, 139273, 1);
}

TEST(PaperFormula, SigmaForAnEpsilonGivesThatEpsilon) {
  GradientFormula formula = Published();
  formula.sigma = *ComputeGradientFormulaSigma(formula, 1);
  EXPECT_NEAR(ComputeGradientFormulaEpsilon(formula)->epsilon, 1, 1e-9);
}

// The formula falls with C^2 although a public constant cannot change privacy: why it is no guarantee.
TEST(PaperFormula, FallsWithTheNormBoundAlthoughPrivacyCannot) {
  GradientFormula smaller = Published();
  smaller.norm_bound = 1e-4;
  EXPECT_LT(ComputeGradientFormulaEpsilon(smaller)->epsilon, ComputeGradientFormulaEpsilon(Published())->epsilon / 5);
}

TEST(PaperFormula, RonaReproducesItsPublishedFigure) {
  EXPECT_NEAR(*ComputeRonaFormulaEpsilon(0.5, 3200, 1e-5, 10), 9.597, 0.001);
}

}  // namespace
}  // namespace retort::privacy
