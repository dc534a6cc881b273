// [sweep.select]: what it reads, and what it refuses with the reason.
#include "experiments/sweep/select_spec.h"

#include <gtest/gtest.h>

#include <span>
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

TEST(SweepSelect, ScoreOnTrainingExamplesIsRefused) {
  const std::string error =
      FirstError("[sweep.select]\nscore = \"train.accuracy\"\ndistribution = \"poisson\"\nmean = 10\n");
  EXPECT_NE(error.find("no claim of a trial covers"), std::string::npos) << error;
  EXPECT_NE(error.find("score_noise"), std::string::npos) << error;
}

TEST(SweepSelect, ScoreOnPrivateExamplesHasNoise) {
  const std::string lines = "distribution = \"poisson\"\nmean = 10\n";
  const std::string select = "[sweep.select]\nscore = \"validation.accuracy\"\n";
  const SweepPlan plan = GoodPlan(kHead + kSelecting + select + "score_noise = 12.5\n" + lines);
  EXPECT_EQ(plan.select->score, "validation.accuracy");
  EXPECT_EQ(plan.select->score_noise, 12.5);
  const std::string missing = FirstError(select + lines);
  EXPECT_NE(missing.find("needs noise: set score_noise"), std::string::npos) << missing;
  EXPECT_NE(missing.find(":14:"), std::string::npos) << missing;
  for (const char* noise : {"0", "-1", "0.01", "inf"}) {
    const std::string error = FirstError(select + "score_noise = " + noise + "\n" + lines);
    EXPECT_NE(error.find("sweep.select.score_noise"), std::string::npos) << error;
    EXPECT_NE(error.find(":15:"), std::string::npos) << error;
  }
}

TEST(SweepSelect, NoiseOfAPublicScoreIsRefused) {
  for (const char* score : {"", "score = \"public.accuracy\"\n"}) {
    const std::string error = FirstError("[sweep.select]\n" + std::string(score) +
                                         "score_noise = 4\ndistribution = \"poisson\"\nmean = 10\n");
    EXPECT_NE(error.find("leave it out, or set that score"), std::string::npos) << error;
  }
}

std::string SplitError(const std::string& split) {
  std::string head = kHead;
  const std::string train = "train = [0, 8000]";
  head.replace(head.find(train), train.size(), split);
  const PlanOutcome outcome = PlanText(head + kSelecting);
  return outcome.errors.empty() ? "" : Render(outcome.errors.front());
}

TEST(SweepSelect, ValidationExamplesAreApart) {
  EXPECT_EQ(SplitError("train = [0, 7000], validation = [7000, 8000]"), "");
  for (const char* overlap : {"[6999, 8000]", "[8500, 8600]", "[9999, 10000]"}) {
    const std::string error = SplitError("train = [0, 7000], validation = " + std::string(overlap));
    EXPECT_NE(error.find("data.digits.split.validation"), std::string::npos) << error;
    EXPECT_NE(error.find("must be disjoint"), std::string::npos) << error;
    EXPECT_NE(error.find(":5:"), std::string::npos) << error;
  }
  EXPECT_NE(SplitError("train = [0, 0], validation = [0, 8000]").find("holds no example"), std::string::npos);
  EXPECT_NE(SplitError("train = [0, 7000], validation = [7000, 7000]").find("holds no example"), std::string::npos);
  EXPECT_NE(SplitError("train = [0, 7000], validation = 0.1").find("cannot stand beside"), std::string::npos);
}

TEST(SweepSelect, ValidationExamplesArePartOfTheId) {
  const auto plan = [](const std::string& split) {
    std::string head = kHead;
    head.replace(head.find("train = [0, 8000]"), 17, split);
    return GoodPlan(head + kSelecting).trials.front();
  };
  const TrialSpec one = plan("train = [0, 7000], validation = [7000, 8000]");
  EXPECT_EQ(one.data->PrivateExamples(), 7000);
  EXPECT_EQ(one.data->ValidationExamples(), 1000);
  EXPECT_NE(one.id, plan("train = [0, 7000], validation = [7000, 7900]").id);
  EXPECT_NE(one.id, plan("train = [0, 7000]").id);
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

const std::string kCalibrating =
    "[trial]\n"
    "method = \"dpsgd\"\n"
    "steps = 10\n"
    "claim = \"example\"\n"
    "calibrate = \"noise\"\n"
    "[sweep]\n"
    "name = \"chosen\"\n"
    "grid.lr = [0.5, 1, 2]\n";
const std::string kAsking = "[sweep.select]\ndistribution = \"geometric\"\nmean = 8\nepsilon = 3\n";

// Each candidate is left half of what the selection may cost.
PlanHooks HalvingHooks() {
  PlanHooks hooks = FakeHooks();
  hooks.calibrate = [](TrialSpec& spec) {
    spec.release.noise_multiplier = 10 / spec.privacy.epsilon;
    return Status();
  };
  hooks.calibrate_candidates = [](const SelectSpec& select, std::span<const TrialSpec> candidates) {
    EXPECT_EQ(candidates.size(), 3U);
    for (const TrialSpec& spec : candidates) EXPECT_EQ(spec.release.noise_multiplier, 0) << "calibrated too early";
    return Result<double>(*select.epsilon / 2);
  };
  return hooks;
}

TEST(SweepSelect, EpsilonOfTheSelectionIsSharedOut) {
  const SweepPlan plan = GoodPlan(kHead + kCalibrating + kAsking, {}, HalvingHooks());
  EXPECT_EQ(plan.select->epsilon, 3);
  ASSERT_EQ(plan.trials.size(), 3U);
  std::string own = kCalibrating;
  own.insert(own.find("[sweep]"), "epsilon = 1.5\n");
  const SweepPlan same = GoodPlan(kHead + own, {}, HalvingHooks());
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    EXPECT_EQ(plan.trials[i].privacy.epsilon, 1.5);
    EXPECT_EQ(plan.trials[i].id, same.trials[i].id);
    EXPECT_EQ(plan.trials[i].name, same.trials[i].name);
  }
}

TEST(SweepSelect, EpsilonOfATrialBesideThatOfTheSelectionIsRefused) {
  const auto error = [](const std::string& text) {
    const PlanOutcome outcome = PlanText(kHead + text, {}, HalvingHooks());
    EXPECT_EQ(outcome.errors.size(), 1U);
    return outcome.errors.empty() ? "" : Render(outcome.errors.front());
  };
  std::string own = kCalibrating + kAsking;
  own.insert(own.find("[sweep]"), "epsilon = 1.5\n");
  const std::string of_trial = error(own);
  EXPECT_NE(of_trial.find("trial.epsilon is that of one candidate"), std::string::npos) << of_trial;
  EXPECT_NE(of_trial.find(":11:"), std::string::npos) << of_trial;
  own.replace(own.find("epsilon = 1.5"), 13, "epsilon = 0.0");  // asks for none
  EXPECT_EQ(GoodPlan(kHead + own, {}, HalvingHooks()).trials.front().privacy.epsilon, 1.5);
  std::string axis = kCalibrating + kAsking;
  axis.replace(axis.find("lr = [0.5, 1, 2]"), 16, "epsilon = [1.5] ");
  const std::string of_axis = error(axis);
  EXPECT_NE(of_axis.find("sweep.grid.epsilon is that of one candidate"), std::string::npos) << of_axis;
  EXPECT_NE(of_axis.find("sweep.select.epsilon = 3"), std::string::npos) << of_axis;
}

TEST(SweepSelect, EpsilonThatLeavesNothingIsAnErrorAtItsKey) {
  PlanHooks hooks = HalvingHooks();
  hooks.calibrate_candidates = [](const SelectSpec&, std::span<const TrialSpec>) {
    return Result<double>(UsageError("nothing is left"));
  };
  const PlanOutcome outcome = PlanText(kHead + kCalibrating + kAsking, {}, hooks);
  ASSERT_EQ(outcome.errors.size(), 1U);
  const std::string error = Render(outcome.errors.front());
  EXPECT_NE(error.find("sweep.select.epsilon: nothing is left"), std::string::npos) << error;
  EXPECT_NE(error.find(":17:"), std::string::npos) << error;
}

TEST(SweepSelect, EpsilonOfTheSelectionNeedsAClaim) {
  std::string bare = kCalibrating + kAsking;
  bare.erase(bare.find("claim"), std::string("claim = \"example\"\n").size());
  const PlanOutcome outcome = PlanText(kHead + bare, {}, HalvingHooks());
  ASSERT_FALSE(outcome.errors.empty());
  EXPECT_NE(Render(outcome.errors.front()).find("set claim"), std::string::npos) << Render(outcome.errors.front());
  const std::string zero = kAsking.substr(0, kAsking.rfind("epsilon")) + "epsilon = 0\n";
  EXPECT_NE(FirstError(zero).find("out of range"), std::string::npos) << FirstError(zero);
}

}  // namespace
}  // namespace retort
