// [sweep.select]: what it reads, and what it refuses with the reason.
#include "experiments/sweep/select_spec.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

const std::string kSelecting =
    "[trial]\n"
    "method = \"dpsgd\"\n"
    "steps = 10\n"
    "noise_multiplier = 2\n"
    "[sweep]\n"
    "name = \"chosen\"\n"
    "grid.lr = [0.5, 1, 2]\n";

std::string FirstError(const std::string& select) {
  const PlanOutcome outcome = PlanText(kHead + kSelecting + select);
  return outcome.errors.empty() ? "" : Render(outcome.errors.front());
}

TEST(SweepSelect, CandidatesAreTheTrialsOfTheSweep) {
  const SweepPlan plan = GoodPlan(kHead + kSelecting + "[sweep.select]\ndistribution = \"poisson\"\nmean = 10\n");
  ASSERT_TRUE(plan.select);
  EXPECT_EQ(plan.trials.size(), 3U);
  EXPECT_EQ(plan.select->score, "public.accuracy");
  EXPECT_EQ(plan.select->distribution, "poisson");
  EXPECT_EQ(plan.select->mean, 10);
  EXPECT_FALSE(plan.select->eta);
  EXPECT_NE(plan.resolved_toml.find("select"), std::string::npos);
}

TEST(SweepSelect, CandidatesHaveTheIdsOfTrialsThatAreNotSelected) {
  const SweepPlan plain = GoodPlan(kHead + kSelecting);
  const SweepPlan plan = GoodPlan(kHead + kSelecting + "[sweep.select]\ndistribution = \"geometric\"\nmean = 10\n");
  ASSERT_EQ(plain.trials.size(), plan.trials.size());
  for (std::size_t i = 0; i < plan.trials.size(); ++i) EXPECT_EQ(plain.trials[i].id, plan.trials[i].id);
}

TEST(SweepSelect, ShapeBelongsToOneDistribution) {
  EXPECT_EQ(FirstError("[sweep.select]\ndistribution = \"truncated-negative-binomial\"\nmean = 10\neta = 0.5\n"), "");
  EXPECT_NE(FirstError("[sweep.select]\ndistribution = \"truncated-negative-binomial\"\nmean = 10\n").find("missing"),
            std::string::npos);
  EXPECT_NE(FirstError("[sweep.select]\ndistribution = \"poisson\"\nmean = 10\neta = 0.5\n").find("has none"),
            std::string::npos);
}

TEST(SweepSelect, ScoreOnTheTestSplitIsRefused) {
  const std::string error =
      FirstError("[sweep.select]\nscore = \"test.accuracy\"\ndistribution = \"poisson\"\nmean = 10\n");
  EXPECT_NE(error.find("reads the test split"), std::string::npos) << error;
  EXPECT_NE(error.find(":14:"), std::string::npos) << error;
}

TEST(SweepSelect, ScoreOnPrivateExamplesIsRefused) {
  const std::string error =
      FirstError("[sweep.select]\nscore = \"validation.accuracy\"\ndistribution = \"poisson\"\nmean = 10\n");
  EXPECT_NE(error.find("no claim of a trial covers"), std::string::npos) << error;
}

TEST(SweepSelect, ScoreThatDependsOnOtherTrialsIsRefused) {
  for (const char* score : {"synthetic.accuracy", "audit.membership.auc", "rank", "seconds"}) {
    const std::string error =
        FirstError("[sweep.select]\nscore = \"" + std::string(score) + "\"\ndistribution = \"poisson\"\nmean = 10\n");
    EXPECT_NE(error.find("sweep.select.score"), std::string::npos) << error;
  }
}

TEST(SweepSelect, SeedsAreNoCandidates) {
  const std::string error = FirstError("seeds = [0, 1]\n[sweep.select]\ndistribution = \"poisson\"\nmean = 10\n");
  EXPECT_NE(error.find("every draw"), std::string::npos) << error;
}

TEST(SweepSelect, QuotaThatEndsItMidwayIsRefused) {
  const std::string error =
      FirstError("quota = { trials = 3 }\n[sweep.select]\ndistribution = \"poisson\"\nmean = 10\n");
  EXPECT_NE(error.find("midway"), std::string::npos) << error;
  EXPECT_EQ(FirstError("quota = { concurrency = 3 }\n[sweep.select]\ndistribution = \"poisson\"\nmean = 10\n"), "");
}

TEST(SweepSelect, MeanAndDistributionHaveLimits) {
  EXPECT_NE(FirstError("[sweep.select]\ndistribution = \"poisson\"\nmean = 0\n").find("out of range"),
            std::string::npos);
  EXPECT_NE(FirstError("[sweep.select]\ndistribution = \"constant\"\nmean = 3\n").find("constant"), std::string::npos);
  EXPECT_NE(FirstError("[sweep.select]\nmean = 3\n").find("missing"), std::string::npos);
  EXPECT_NE(FirstError("[sweep.select]\ndistribution = \"poisson\"\nmean = 3\ndraws = 3\n").find("draws"),
            std::string::npos);
}

}  // namespace
}  // namespace retort
