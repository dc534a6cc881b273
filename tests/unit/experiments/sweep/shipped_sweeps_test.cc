// The sweeps in experiments/configs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using ::testing::ElementsAre;

SweepPlan Shipped(const std::string& name) {
  const PlanOutcome outcome =
      LoadSweep(std::string(RETORT_SOURCE_DIR) + "/experiments/configs/" + name, {}, FakeHooks());
  for (const Diagnostic& error : outcome.errors) ADD_FAILURE() << Render(error);
  return outcome.plan ? *outcome.plan : SweepPlan{};
}

TEST(ShippedSweeps, QuickstartIsFourTeachersThenSevenStudents) {
  const SweepPlan plan = Shipped("quickstart.toml");
  EXPECT_THAT(Names(plan), ElementsAre("teacher-single-digits-s0", "teacher-shards-digits-s0", "teacher-hog-digits-s0",
                                       "teacher-dpsgd-digits-s0", "dpdfd-sound-hog-digits-s0", "dp-gd-digits-s0",
                                       "dpdfd-working-digits-s0", "dpdfd-sound-dpsgd-digits-s0",
                                       "dpdfd-sound-shards-digits-s0", "dpsgd-digits-s0", "dp-spectral-digits-s0"));
  ASSERT_EQ(plan.trials.size(), 11U);
  EXPECT_EQ(plan.trials[4].parent, plan.trials[2].id);
  EXPECT_EQ(plan.trials[4].source, QuerySource::procedural);
  EXPECT_EQ(plan.trials[6].parent, plan.trials[0].id);
  EXPECT_EQ(plan.trials[7].parent, plan.trials[3].id);
  EXPECT_EQ(plan.trials[8].parent, plan.trials[1].id);
  EXPECT_FALSE(plan.trials[9].parent.has_value());
  EXPECT_EQ(plan.trials[1].members, 100);
  EXPECT_EQ(plan.trials[3].privacy.epsilon, 3);
  EXPECT_EQ(plan.trials[6].steps, 160);
  EXPECT_EQ(plan.trials[8].queries, 300);
  EXPECT_EQ(plan.trials[9].network, "tanh-cnn");
  EXPECT_EQ(plan.trials[10].source, QuerySource::public_split);
  EXPECT_EQ(plan.name, "quickstart");
  EXPECT_TRUE(plan.warnings.empty());
}

TEST(ShippedSweeps, PlanningTwiceGivesTheSameIds) {
  const SweepPlan once = Shipped("quickstart.toml"), twice = Shipped("quickstart.toml");
  for (std::size_t i = 0; i < once.trials.size(); ++i) {
    EXPECT_EQ(EncodeCanonically(once.trials[i]), EncodeCanonically(twice.trials[i]));
  }
}

TEST(ShippedSweeps, ReadingsComparesThreeReadingsOfOneTeacher) {
  EXPECT_THAT(Names(Shipped("readings.toml")), ElementsAre("teacher-single-digits-s0", "dpdfd-printed-digits-s0",
                                                           "dpdfd-row-averaged-digits-s0", "dpdfd-working-digits-s0"));
}

TEST(ShippedSweeps, ChaosHasGangsAndTrialsThatMayShareADevice) {
  int gangs = 0, sharing = 0;
  for (const TrialSpec& trial : Shipped("chaos.toml").trials) {
    gangs += trial.devices == 2 ? 1 : 0;
    sharing += trial.execution.pack == PackMode::automatic ? 1 : 0;
  }
  EXPECT_EQ(gangs, 2);
  EXPECT_GE(sharing, 2);
}

TEST(ShippedSweeps, ImageNetTable3IsNineLoadedTeachersAtThreeBudgets) {
  PlanHooks hooks = FakeHooks();
  hooks.inspect = [](DataSpec& data) {
    data.digest = std::string(64, 'a');
    data.examples = 51000;
    data.channels = 3;
    data.height = data.width = 224;
    data.classes = 1000;
    data.split.train = {0, 1000};
    data.split.test = {1000, 51000};
    return Status();
  };
  std::size_t weighed = 0;
  hooks.digest_file = [&weighed](const std::string& path) -> Result<std::string> {
    ++weighed;
    return ComputeSha256Hex(path);
  };
  hooks.lookup = [](const std::string&) -> std::optional<std::string> { return "/data"; };
  const std::string path = std::string(RETORT_SOURCE_DIR) + "/experiments/configs/dpdfd-ijcai23/table3.toml";
  const PlanOutcome outcome = LoadSweep(path, {}, hooks);
  for (const Diagnostic& error : outcome.errors) ADD_FAILURE() << Render(error);
  ASSERT_TRUE(outcome.plan.has_value());
  EXPECT_EQ(outcome.plan->trials.size(), 9U + 27U);
  EXPECT_EQ(weighed, 9U);
  for (const TrialSpec& trial : outcome.plan->trials) {
    if (trial.role == Role::teacher) {
      EXPECT_EQ(trial.method, "loaded") << trial.name;
      EXPECT_FALSE(trial.weights_digest.empty()) << trial.name;
    } else {
      EXPECT_EQ(trial.network, "resnet34") << trial.name;
    }
  }
}

TEST(ShippedSweeps, SmokeIsSeededAndReachesEveryKindOfTrial) {
  const SweepPlan plan = Shipped("smoke.toml");
  EXPECT_GE(plan.trials.size(), 8U);
  for (const TrialSpec& trial : Students(plan)) {
    const bool draws = trial.reading != Reading::sound || trial.queries > 0;
    EXPECT_EQ(trial.noise, draws ? NoiseMode::seeded : NoiseMode::secure) << trial.name;
  }
}

}  // namespace
}  // namespace retort
