// What a selection's epsilon leaves each candidate: met, tight, and told why where nothing is left.
#include "experiments/privacy/selection_calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "experiments/privacy/relation.h"
#include "experiments/privacy/selection_plan.h"
#include "tests/unit/experiments/privacy/trials.h"

namespace retort::privacy {
namespace {

DrawLaw Draws(const std::string& distribution, double mean) {
  return MakeDrawLaw(distribution, mean, distribution.starts_with("trunc") ? std::optional(0.5) : std::nullopt).value();
}

TrialSpec Trained(TrialSpec spec, std::int64_t steps, double delta = 1e-5) {
  spec.steps = steps;
  spec.privacy.delta = delta;
  return Calibrated(spec, ClaimTarget::example, 0);
}

TrialSpec Labels() {
  TrialSpec spec = DpSgd(Role::student);
  spec.method = "lp-2st";
  spec.privacy.delta = 1e-5;
  return Calibrated(spec, ClaimTarget::label, 0);
}

TrialSpec WithValidation(TrialSpec spec) {
  auto data = std::make_shared<DataSpec>(*spec.data);
  data->split.public_range = {};
  data->split.validation = {8000, 9000};
  spec.data = data;
  return spec;
}

// What the selection claims when each candidate is calibrated to `epsilon`: from the events, not by the solver.
double ComputeClaim(const SelectionAim& aim, std::vector<TrialSpec> candidates, double epsilon,
                    std::int64_t lost_runs = 0) {
  for (TrialSpec& spec : candidates) {
    spec.privacy.epsilon = epsilon;
    const Status solved = CalibrateTrial(spec);
    EXPECT_TRUE(solved.ok()) << solved.message();
  }
  const PrivacyEvent event = PlanSelection(aim.law, candidates, lost_runs, aim.score_noise).value();
  const bool labels = candidates.front().privacy.claim == ClaimTarget::label;
  for (const Claim& claim : ComputeSelectionClaims(candidates.front(), event))
    if (claim.adjacency == (labels ? Adjacency::label : Adjacency::example) &&
        claim.neighbour == (labels ? Neighbour::replace : Neighbour::add_remove))
      return claim.epsilon;
  ADD_FAILURE() << "no claim";
  return 0;
}

Result<double> Solve(const SelectionAim& aim, const std::vector<TrialSpec>& candidates) {
  Calibrator calibrator;
  return SolveCandidateEpsilon(aim, candidates, calibrator);
}

std::string WhyNot(const SelectionAim& aim, const std::vector<TrialSpec>& candidates) {
  const Result<double> solved = Solve(aim, candidates);
  EXPECT_EQ(solved.status().code(), StatusCode::usage);
  return solved.ok() ? "" : solved.status().message();
}

// The next thousandth would be too much.
void ExpectTight(const SelectionAim& aim, const std::vector<TrialSpec>& candidates, std::int64_t lost_runs = 0) {
  const Result<double> solved = Solve(aim, candidates);
  ASSERT_TRUE(solved.ok()) << solved.status().message();
  EXPECT_LE(ComputeClaim(aim, candidates, *solved, lost_runs), aim.epsilon) << *solved;
  const double next = (std::round(1000 * *solved) + 1) / 1000;
  EXPECT_GT(ComputeClaim(aim, candidates, next, lost_runs), aim.epsilon) << *solved;
}

TEST(SelectionCalibration, IsTheMostThatTheSelectionAllows) {
  for (const double epsilon : {0.3, 1.0, 3.0, 8.0})
    ExpectTight({Draws("geometric", 8), epsilon},
                {Trained(DpGd(Role::student), 30), Trained(DpGd(Role::student), 100)});
}

TEST(SelectionCalibration, HoldsForEveryLaw) {
  for (const char* law : {"poisson", "geometric", "logarithmic", "truncated-negative-binomial"})
    ExpectTight({Draws(law, 10), 2.0}, {Trained(DpGd(Role::student), 100)});
}

TEST(SelectionCalibration, TheWorstOfUnlikeCandidatesCounts) {
  ExpectTight({Draws("geometric", 5), 2.0}, {Trained(DpSgd(Role::student), 40), Trained(DpGd(Role::student), 100)});
}

TEST(SelectionCalibration, IsThatOfLabelsWhereLabelsAreProtected) {
  ExpectTight({Draws("geometric", 4), 3.0}, {Labels()});
}

TEST(SelectionCalibration, DoesNotDependOnTheOrderOfTheCandidates) {
  const SelectionAim aim{Draws("geometric", 5), 2.0};
  std::vector<TrialSpec> candidates = {Trained(DpSgd(Role::student), 40), Trained(DpGd(Role::student), 100),
                                       Trained(DpGd(Role::student), 10)};
  const double solved = Solve(aim, candidates).value();
  std::reverse(candidates.begin(), candidates.end());
  EXPECT_EQ(Solve(aim, candidates).value(), solved);
}

TEST(SelectionCalibration, LeavesRoomForLostRuns) {
  TrialSpec spec = Trained(DpGd(Role::student), 100);
  const SelectionAim aim{Draws("geometric", 8), 1.0};
  spec.execution.reserve_block = 20;
  const double without = Solve(aim, {spec}).value();
  spec.execution.retries = 2;
  ExpectTight(aim, {spec}, 2);
  EXPECT_NEAR(Solve(aim, {spec}).value(), without, 0.002) << "the noise grows, not what a candidate claims";
}

TEST(SelectionCalibration, PaysForAPrivateScore) {
  const TrialSpec spec = WithValidation(Trained(DpGd(Role::student), 100));
  const SelectionAim free{Draws("geometric", 8), 1.0}, quiet{free.law, 1.0, 1000}, loud{free.law, 1.0, 6};
  ExpectTight(quiet, {spec});
  ExpectTight(loud, {spec});
  EXPECT_LE(Solve(loud, {spec}).value(), Solve(quiet, {spec}).value());
}

TEST(SelectionCalibration, AScoreThatCostsMoreIsRefused) {
  const std::string why = WhyNot({Draws("geometric", 8), 1.0, 2}, {WithValidation(Trained(DpGd(Role::student), 100))});
  EXPECT_NE(why.find("private score alone, with score_noise = 2"), std::string::npos) << why;
  EXPECT_NE(why.find("raise score_noise"), std::string::npos) << why;
}

TEST(SelectionCalibration, ADeltaThatNoNoiseMeetsIsRefused) {
  const std::string why = WhyNot({Draws("logarithmic", 9000), 1.0}, {Trained(DpGd(Role::student), 100, 1e-300)});
  EXPECT_NE(why.find("Of the candidate dp-gd: epsilon = 0.666 cannot be met"), std::string::npos) << why;
}

// One step alone costs more than two thirds of the aim, which is where the search begins.
TEST(SelectionCalibration, StepsOfWhichOneIsDearAreFound) {
  TrialSpec spec = Trained(DpSgd(Role::student), 40);
  spec.privacy.calibrate = Calibrate::steps;
  spec.release.noise_multiplier = 0.95;
  const SelectionAim aim{Draws("geometric", 1.001), 3.0};
  const Result<double> solved = Solve(aim, {spec});
  ASSERT_TRUE(solved.ok()) << solved.status().message();
  EXPECT_LE(ComputeClaim(aim, {spec}, *solved), aim.epsilon);
  EXPECT_GT(*solved, 2.162) << "one step alone costs so much";
}

TEST(SelectionCalibration, StepsOfWhichOneCostsTooMuchAreRefused) {
  TrialSpec spec = Trained(DpSgd(Role::student), 40);
  spec.privacy.calibrate = Calibrate::steps;
  spec.release.noise_multiplier = 0.3;
  const std::string why = WhyNot({Draws("geometric", 8), 1.0}, {spec});
  EXPECT_NE(why.find("To less they cannot be calibrated"), std::string::npos) << why;
}

TEST(SelectionCalibration, AClaimThatTheMethodHasNotIsNamed) {
  const std::string why =
      WhyNot({Draws("geometric", 8), 1.0}, {Calibrated(Trained(DpSgd(Role::student), 40), ClaimTarget::paper, 0)});
  EXPECT_NE(why.find("\"example\""), std::string::npos) << why;
  EXPECT_EQ(why.find("however small"), std::string::npos) << why;
}

TEST(SelectionCalibration, CandidatesOfUnlikeDeltaAreRefused) {
  const std::string why = WhyNot({Draws("geometric", 8), 1.0},
                                 {Trained(DpGd(Role::student), 100), Trained(DpGd(Role::student), 100, 1e-6)});
  EXPECT_NE(why.find("different delta"), std::string::npos) << why;
}

TEST(SelectionCalibration, ATrialThatIsNoCandidateIsNamed) {
  TrialSpec spec = Trained(DpGd(Role::student), 100);
  spec.parent = TrialId(1);
  spec.axes = {{"lr", "4"}};
  const std::string why = WhyNot({Draws("geometric", 8), 1.0}, {spec});
  EXPECT_NE(why.find("dp-gd lr=4 asks"), std::string::npos) << why;
}

TEST(SelectionCalibrationMutants, CandidatesOfTheWholeEpsilonAreCaught) {
  const SelectionAim aim{Draws("geometric", 8), 1.0};
  const std::vector<TrialSpec> candidates = {Trained(DpGd(Role::student), 100)};
  EXPECT_LE(ComputeClaim(aim, candidates, Solve(aim, candidates).value()), 1.0);
  EXPECT_GT(ComputeClaim(aim, candidates, 1.0), 1.3);
}

}  // namespace
}  // namespace retort::privacy
