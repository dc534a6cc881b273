// Expansion: axes, rules, teachers, names, precedence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/methods/spec_keys.h"
#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kBase = kHead + kTeachers + "[trial]\nteacher = \"single\"\n";

TEST(SweepPlan, AxesVaryInFileOrderTheFirstSlowestSeedsFastest) {
  const auto students = Students(GoodPlan(
      kBase + "[sweep]\nseeds = [5, 3]\nzip.b = [{ steps = 1 }, { steps = 2, batch = 8 }]\ngrid.sigma = [9, 4]\n"));
  std::vector<std::tuple<std::int64_t, std::int64_t, double, std::uint64_t>> seen;
  for (const TrialSpec& trial : students) seen.emplace_back(trial.steps, trial.batch, trial.release.sigma, trial.seed);
  EXPECT_THAT(seen, ElementsAre(std::tuple(1, 256, 9.0, 5U), std::tuple(1, 256, 9.0, 3U), std::tuple(1, 256, 4.0, 5U),
                                std::tuple(1, 256, 4.0, 3U), std::tuple(2, 8, 9.0, 5U), std::tuple(2, 8, 9.0, 3U),
                                std::tuple(2, 8, 4.0, 5U), std::tuple(2, 8, 4.0, 3U)));
}

TEST(SweepPlan, TwoZipsCross) {
  const auto students = Students(
      GoodPlan(kBase + "[sweep]\nzip.a = [{ steps = 1 }, { steps = 2 }]\nzip.b = [{ sigma = 1 }, { sigma = 2 }]\n"));
  EXPECT_EQ(students.size(), 4U);
}

TEST(SweepPlan, WithoutSweepThereIsOneTrialNamedByTheFile) {
  const SweepPlan plan = GoodPlan(kBase);
  EXPECT_EQ(plan.name, "test");
  EXPECT_EQ(Students(plan).size(), 1U);
}

TEST(SweepPlan, TeachersStandFirstOncePerDefinitionDataAndSeed) {
  const SweepPlan plan = GoodPlan(kBase + "[sweep]\nseeds = [0, 1]\ngrid.sigma = [1, 2]\n");
  ASSERT_EQ(plan.trials.size(), 6U);
  EXPECT_EQ(plan.trials[0].name, "teacher-single-digits-s0");
  EXPECT_EQ(plan.trials[1].name, "teacher-single-digits-s1");
  EXPECT_EQ(plan.trials[0].role, Role::teacher);
  EXPECT_EQ(plan.trials[0].method, "plain");
  for (std::size_t i = 2; i < 6; ++i) {
    ASSERT_TRUE(plan.trials[i].parent.has_value());
    EXPECT_EQ(*plan.trials[i].parent, plan.trials[plan.trials[i].seed].id);
  }
}

TEST(SweepPlan, TeachersThatDifferInTheirNamesAloneAreOne) {
  const SweepPlan plan =
      GoodPlan(kHead +
               "[teacher]\na = { network = \"logistic\" }\nb = { network = \"logistic\" }\n"
               "c = { network = \"datalens\" }\n[trial]\n[sweep]\nseeds = [0, 1]\n"
               "zip.t = [{ teacher = \"c\" }, { teacher = \"b\" }, { teacher = \"a\", steps = 3 }]\n");
  EXPECT_THAT(Names(plan),
              ElementsAre("teacher-a-digits-s0", "teacher-a-digits-s1", "teacher-c-digits-s0", "teacher-c-digits-s1",
                          "dpdfd-working-c-digits-s0", "dpdfd-working-c-digits-s1", "dpdfd-working-b-digits-s0",
                          "dpdfd-working-b-digits-s1", "dpdfd-working-a-digits-s0", "dpdfd-working-a-digits-s1"));
  for (std::size_t i = 4; i < 10; ++i) EXPECT_EQ(*plan.trials[i].parent, plan.trials[(i < 6 ? 2 : 0) + i % 2].id);
}

TEST(SweepPlan, TeacherKindFollowsFromItsDefinition) {
  const SweepPlan plan = GoodPlan(kHead + kTeachers +
                                  "[trial]\nreading = \"sound\"\n[sweep]\nzip.a = [{ teacher = \"dp\" }, "
                                  "{ teacher = \"shards\", vote_noise = 3 }]\n");
  ASSERT_EQ(plan.trials.size(), 4U);
  EXPECT_EQ(plan.trials[0].method, "ensemble");
  EXPECT_EQ(plan.trials[0].members, 10);
  EXPECT_EQ(plan.trials[1].method, "dpsgd");
  EXPECT_EQ(plan.trials[1].release.noise_multiplier, 1.5);
  EXPECT_EQ(plan.trials[1].release.norm_bound, 0.1);
  EXPECT_EQ(plan.trials[1].privacy.claim, ClaimTarget::none);
  EXPECT_GT(plan.trials[3].queries, 0) << "the preset asks an ensemble";
  EXPECT_EQ(plan.trials[2].queries, 0) << "and nobody else";
}

TEST(SweepPlan, OwnLabelsNeedNoTeacher) {
  const std::string direct = "[trial]\nmethod = \"dpdfd-direct\"\nloss = \"ce-hard\"\nlabel = \"true\"\n";
  const SweepPlan alone = GoodPlan(kHead + direct),
                  beside = GoodPlan(kHead + kTeachers + direct + "teacher = \"single\"\n");
  ASSERT_EQ(alone.trials.size(), 1U);
  EXPECT_FALSE(alone.trials[0].parent.has_value());
  EXPECT_EQ(alone.trials[0].source, QuerySource::private_split);
  ASSERT_EQ(beside.trials.size(), 1U) << "nobody trains a teacher that is not asked";
  EXPECT_EQ(beside.trials[0].id, alone.trials[0].id);
  const std::string both = "[trial]\nmethod = \"dpdfd-direct\"\nloss = \"ce-hard\"\nteacher = \"single\"\n[sweep]\n";
  const auto students = Students(GoodPlan(kHead + kTeachers + both + "grid.label = [\"teacher\", \"true\"]\n"));
  ASSERT_EQ(students.size(), 2U);
  EXPECT_TRUE(students[0].parent.has_value());
  EXPECT_EQ(students[1].id, alone.trials[0].id);
  EXPECT_EQ(students[0].id, Students(GoodPlan(kHead + kTeachers + both))[0].id)
      << "the default leaves ids as they were";
}

TEST(SweepPlan, DenseStartsFromItsPublishedSettings) {
  const auto students = Students(GoodPlan(kHead + kTeachers + "[trial]\nmethod = \"dense\"\nteacher = \"shards\"\n"));
  ASSERT_EQ(students.size(), 1U);
  const TrialSpec& spec = students[0];
  EXPECT_EQ(spec.steps, 200);
  EXPECT_EQ(spec.batch, 256);
  EXPECT_EQ(spec.distill.replay, 200);
  EXPECT_EQ(spec.distill.student_batch, 256);
  EXPECT_EQ(spec.distill.temperature, 20);
  EXPECT_EQ(spec.optimization.optimizer, Optimizer::sgd);
  EXPECT_EQ(spec.optimization.lr, 0.005);
  EXPECT_EQ(spec.optimization.lr_hold, 1);
  EXPECT_EQ(spec.optimization.momentum, 0.9);
  EXPECT_EQ(spec.optimization.weight_decay, 0);
  EXPECT_EQ(spec.generator.network, "fast");
  EXPECT_EQ(spec.generator.latent, 256);
  EXPECT_EQ(spec.generator.width, 128);
  EXPECT_EQ(spec.generator.steps, 30);
  EXPECT_EQ(spec.generator.lr, 1e-3);
  EXPECT_EQ(spec.generator.one_hot, 1);
  EXPECT_EQ(spec.generator.bn_statistics, 1);
  EXPECT_EQ(spec.generator.adversarial, 1);
}

TEST(SweepPlan, LoadedTeacherIsSharedByAllSeeds) {
  PlanHooks hooks = FakeHooks();
  std::vector<std::string> weighed;
  hooks.digest_file = [&](const std::string& path) -> Result<std::string> {
    weighed.push_back(path);
    return "0676ba61" + std::string(56, '0');
  };
  hooks.lookup = [](const std::string& name) { return std::optional<std::string>("/of/" + name); };
  const SweepPlan plan = GoodPlan(
      kHead +
          "[teacher]\nown = { network = \"logistic\", weights = \"${ZOO}/w.pth\" }\n[trial]\nteacher = \"own\"\n"
          "[sweep]\nseeds = [0, 1, 2]\n",
      {}, hooks);
  ASSERT_EQ(plan.trials.size(), 4U);
  EXPECT_EQ(plan.trials[0].method, "loaded");
  EXPECT_EQ(plan.trials[0].weights, "/of/ZOO/w.pth");
  EXPECT_EQ(plan.trials[0].weights_digest, "0676ba61" + std::string(56, '0'));
  EXPECT_THAT(weighed, ElementsAre("/of/ZOO/w.pth"));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(plan.trials[i].parent, plan.trials[0].id);
  EXPECT_THAT(plan.resolved_toml, HasSubstr("\"/of/ZOO/w.pth\""));
}

TEST(SweepPlan, PublishedNameStandsForItsFile) {
  PlanHooks hooks = FakeHooks();
  hooks.find_weights = [](const std::string& text) -> Result<std::string> {
    return std::string(text == "A_Weights.V1" ? "/hub/a-0676ba61.pth" : "");
  };
  std::vector<std::string> weighed;
  hooks.digest_file = [&](const std::string& path) -> Result<std::string> {
    weighed.push_back(path);
    return std::string(64, '0');
  };
  const SweepPlan plan = GoodPlan(
      kHead +
          "[teacher]\nnamed = { network = \"logistic\", weights = \"A_Weights.V1\" }\n"
          "own = { network = \"logistic\", weights = \"b.pth\" }\n[sweep]\ngrid.teacher = [\"named\", \"own\"]\n",
      {}, hooks);
  EXPECT_THAT(weighed, ElementsAre("/hub/a-0676ba61.pth", ::testing::EndsWith("/sweeps/b.pth")));
  EXPECT_THAT(plan.resolved_toml, HasSubstr("\"/hub/a-0676ba61.pth\""));
}

TEST(SweepPlan, ATorchScriptTeacherNeedsNoNetwork) {
  const SweepPlan plan = GoodPlan(kHead + "[teacher]\nown = { torchscript = \"m.pt\" }\n[trial]\nteacher = \"own\"\n");
  ASSERT_EQ(plan.trials.size(), 2U);
  EXPECT_EQ(plan.trials[0].network, kTorchScript);
  EXPECT_THAT(plan.trials[0].torchscript, ::testing::EndsWith("/sweeps/m.pt"));
}

TEST(SweepPlan, OutputsAreIdentityWhereTheyAreSet) {
  const auto plan = [](const std::string& outputs) {
    return GoodPlan(kHead + "[teacher]\nown = { network = \"logistic\", weights = \"w.pth\"" + outputs +
                    " }\n[trial]\nteacher = \"own\"\n");
  };
  const SweepPlan all = plan(""), some = plan(", outputs = [10, 11, 2, 3, 4, 5, 6, 7, 8, 9]"),
                  swapped = plan(", outputs = [11, 10, 2, 3, 4, 5, 6, 7, 8, 9]");
  EXPECT_EQ(all.trials[0].outputs, "");
  EXPECT_EQ(some.trials[0].outputs, "10 11 2 3 4 5 6 7 8 9");
  EXPECT_THAT(some.resolved_toml, HasSubstr("outputs = [10, 11, 2, 3, 4, 5, 6, 7, 8, 9]"));
  const std::set<TrialId> teachers = {all.trials[0].id, some.trials[0].id, swapped.trials[0].id};
  const std::set<TrialId> students = {all.trials[1].id, some.trials[1].id, swapped.trials[1].id};
  EXPECT_EQ(teachers.size(), 3U) << "the order counts";
  EXPECT_EQ(students.size(), 3U);
}

TEST(SweepPlan, PrivateEpsilonAsksForAProvenExampleClaimByNoise) {
  const SweepPlan plan = GoodPlan(
      kHead + "[teacher]\ndp = { private = { epsilon = 3 } }\n[trial]\nteacher = \"dp\"\nreading = \"sound\"\n");
  EXPECT_EQ(plan.trials[0].privacy.epsilon, 3);
  EXPECT_EQ(plan.trials[0].privacy.claim, ClaimTarget::example);
  EXPECT_EQ(plan.trials[0].privacy.calibrate, Calibrate::noise);
}

TEST(SweepPlan, TeachersInheritNoiseDeltaAndThreads) {
  const std::string teacher =
      "[teacher]\ndp = { private = { epsilon = 3 } }\nown = { private = { epsilon = 3 }, threads = 5 }\n";
  const SweepPlan plan =
      GoodPlan(kHead + teacher +
               "[trial]\nnoise = \"seeded\"\ndelta = 1e-6\nthreads = 3\nbatch = 77\ndeadline = \"9s\"\n"
               "reading = \"sound\"\n[sweep]\ngrid.teacher = [\"dp\", \"own\"]\n");
  EXPECT_EQ(plan.trials[0].noise, NoiseMode::seeded);
  EXPECT_EQ(plan.trials[0].privacy.delta, 1e-6);
  EXPECT_EQ(plan.trials[0].threads, 3);
  EXPECT_EQ(plan.trials[0].execution.deadline_seconds, 9);
  EXPECT_EQ(plan.trials[0].batch, 1024) << "nothing else is inherited";
  EXPECT_EQ(plan.trials[1].threads, 5);
}

TEST(SweepPlan, PlainTeachersAreSharedAcrossNoiseModes) {
  const TrialId secure = GoodPlan(kBase + "noise = \"secure\"\n").trials[0].id;
  EXPECT_EQ(GoodPlan(kBase + "noise = \"seeded\"\n").trials[0].id, secure);
}

TEST(SweepPlan, PresetsDependOnTheKindOfTrial) {
  const auto students = Students(
      GoodPlan(kBase + "[sweep]\nzip.a = [{ reading = \"working\" }, { method = \"dpsgd\", noise_multiplier = 1 }]\n"));
  EXPECT_EQ(students[0].release.sigma, 100);
  EXPECT_EQ(students[0].release.norm_bound, 1e-3);
  EXPECT_EQ(students[0].network, "datalens");
  EXPECT_EQ(students[0].distill.student_steps, 16);
  EXPECT_EQ(students[0].distill.replay, 40);
  EXPECT_EQ(students[1].release.norm_bound, 0.1);
  EXPECT_EQ(students[1].optimization.lr, 4);
  EXPECT_EQ(students[1].optimization.momentum, 0.9);
  EXPECT_EQ(students[1].network, "tanh-cnn");
  EXPECT_EQ(students[1].source, QuerySource::private_split);
  EXPECT_FALSE(students[1].parent.has_value());
}

TEST(SweepPlan, PrecedenceIsPresetTrialProfileArgumentAxisWhen) {
  const auto steps = [](const std::string& trial, const std::string& sweep, const PlanOptions& options) {
    return Students(
               GoodPlan(kBase + trial + "[sweep]\nname = \"n\"\n" + sweep + "[profile.p]\ntrial.steps = 3\n", options))
        .front()
        .steps;
  };
  EXPECT_EQ(steps("", "", {}), 160);
  EXPECT_EQ(steps("steps = 2\n", "", {}), 2);
  EXPECT_EQ(steps("steps = 2\n", "", {{}, "p"}), 3);
  EXPECT_EQ(steps("steps = 2\n", "", {{"trial.steps=4"}, "p"}), 4);
  EXPECT_EQ(steps("steps = 2\n", "grid.steps = [5]\n", {{}, "p"}), 5);
  EXPECT_EQ(steps("steps = 2\n", "grid.steps = [5]\nwhen = [{ if = { steps = 5 }, set = { steps = 6 } }]\n", {}), 6);
}

TEST(SweepPlan, WhenRulesApplyInOrderAndSeeWhatEarlierOnesSet) {
  const auto students =
      Students(GoodPlan(kBase + "[sweep]\ngrid.sigma = [1, 2]\nwhen = [{ if = { sigma = 1 }, set = { kappa = 0.5 } },\n"
                                "{ if = { kappa = 0.5 }, set = { replay = 3 } }]\n"));
  EXPECT_EQ(students[0].distill.kappa, 0.5);
  EXPECT_EQ(students[0].distill.replay, 3);
  EXPECT_EQ(students[1].distill.replay, 40);
}

TEST(SweepPlan, WhenRulesMayChangeTheKindOfTrial) {
  const auto students = Students(GoodPlan(kBase + "[sweep]\nseeds = [0, 1]\nwhen = [{ if = { seed = 1 }, set "
                                                  "= { reading = \"sound\", teacher = \"dp\" } }]\n"));
  EXPECT_EQ(students[0].reading, Reading::working);
  EXPECT_EQ(students[1].reading, Reading::sound);
  EXPECT_EQ(students[1].release.sigma, TrialSpec{}.release.sigma);
  EXPECT_NE(*students[0].parent, *students[1].parent);
}

TEST(SweepPlan, ConditionsMatchAnyOfAListAndValuesOfPresets) {
  const auto students = Students(GoodPlan(kBase + "[sweep]\ngrid.steps = [1, 2, 3]\nwhen = [{ if = { steps = "
                                                  "[1, 3], sigma = 100 }, set = { lr = 0.5 } }]\n"));
  EXPECT_EQ(students[0].optimization.lr, 0.5);
  EXPECT_EQ(students[1].optimization.lr, 1e-3);
  EXPECT_EQ(students[2].optimization.lr, 0.5);
}

TEST(SweepPlan, ExcludeLeavesOutWhatMatchesEveryCondition) {
  const auto students = Students(
      GoodPlan(kBase + "[sweep]\ngrid.steps = [1, 2]\ngrid.sigma = [1, 2]\nexclude = [{ steps = 1, sigma = 2 }]\n"));
  ASSERT_EQ(students.size(), 3U);
  for (const TrialSpec& trial : students) EXPECT_FALSE(trial.steps == 1 && trial.release.sigma == 2);
}

TEST(SweepPlan, RulesThatMatchNothingAreWarnings) {
  const SweepPlan plan =
      GoodPlan(kBase + "[sweep]\nwhen = [{ if = { steps = 7 }, set = { lr = 1 } }]\nexclude = [{ steps = 8 }]\n");
  std::vector<std::string> keys;
  for (const Diagnostic& warning : plan.warnings) {
    if (warning.message == "this rule matches no trial") keys.push_back(warning.key + std::to_string(warning.line));
  }
  EXPECT_THAT(keys, ElementsAre("sweep.when13", "sweep.exclude14"));
}

TEST(SweepPlan, AProfileMayLeaveTeachersOutWithoutAWarning) {
  const std::string text = kHead + kTeachers + "[trial]\nteacher = \"single\"\n[profile.small]\ntrial.steps = 3\n";
  const auto left_out = [&](const std::string& profile) {
    const SweepPlan plan = GoodPlan(text, {.overrides = {}, .profile = profile});
    return std::count_if(plan.warnings.begin(), plan.warnings.end(),
                         [](const Diagnostic& warning) { return warning.key.starts_with("teacher."); });
  };
  EXPECT_EQ(left_out(""), 2);
  EXPECT_EQ(left_out("small"), 0);
}

TEST(SweepPlan, UnusedTeachersAndDataAreWarnedOfAndNotPlanned) {
  const SweepPlan plan = GoodPlan(
      kHead + kTeachers + "[data.other]\nreader = \"idx\"\npath = \"p\"\nsplit = { train = [0, 9], test = [9, 10] }\n" +
      "[trial]\nteacher = \"single\"\ndata = \"digits\"\ndelta = 1e-5\n");
  std::vector<std::string> keys;
  for (const Diagnostic& warning : plan.warnings) keys.push_back(warning.key);
  EXPECT_THAT(keys, ElementsAre("teacher.shards", "teacher.dp", "data.other"));
  EXPECT_EQ(plan.trials.size(), 2U);
  EXPECT_EQ(plan.data.size(), 1U);
}

TEST(SweepPlan, DeltaAboveOneOverTheExamplesIsAWarning) {
  const auto warned = [](const std::string& delta) {
    for (const Diagnostic& warning : GoodPlan(kBase + "delta = " + delta + "\n").warnings) {
      if (warning.key == "trial.delta")
        return warning.line == 12 && warning.message.find("1/8000") != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(warned("1e-3"));
  EXPECT_FALSE(warned("1.25e-4"));
}

TEST(SweepPlan, DataMayBeAnAxis) {
  const SweepPlan plan = GoodPlan(
      kHead + kTeachers + "[data.other]\nreader = \"idx\"\npath = \"p\"\nsplit = { train = [0, 9], test = [9, 10] }\n" +
      "[trial]\nteacher = \"single\"\n[sweep]\ngrid.data = [\"digits\", \"other\"]\n");
  EXPECT_THAT(Names(plan), ElementsAre("teacher-single-digits-s0", "teacher-single-other-s0", "dpdfd-working-digits-s0",
                                       "dpdfd-working-other-s0"));
  EXPECT_EQ(*plan.trials[3].parent, plan.trials[1].id);
}

TEST(SweepPlan, NamesGainTheAxesThatTellThemApartAndNoMore) {
  const SweepPlan plan = GoodPlan(
      kBase + "[sweep]\ngrid.sigma = [50, 100]\ngrid.lr = [0.001]\ngrid.normalization = [\"row\", \"clip\"]\n");
  EXPECT_THAT(Names(plan), ElementsAre("teacher-single-digits-s0", "dpdfd-working-sigma50-row-digits-s0",
                                       "dpdfd-working-sigma50-clip-digits-s0", "dpdfd-working-sigma100-row-digits-s0",
                                       "dpdfd-working-sigma100-clip-digits-s0"));
}

TEST(SweepPlan, NamesAreUnique) {
  const SweepPlan plan = GoodPlan(kBase +
                                  "[sweep]\nseeds = [0, 1]\nwhen = [{ if = { seed = 1 }, set = { kappa = 0.1 } }]\n"
                                  "grid.steps = [1, 2, 3]\ngrid.sigma = [1, 1.5]\n");
  const auto names = Names(plan);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(SweepPlan, AxesListTheSweptKeysThatApply) {
  const auto students = Students(GoodPlan(
      kBase + "[sweep]\nzip.a = [{ sigma = 50 }, { method = \"dpsgd\", noise_multiplier = 2 }]\ngrid.steps = [3]\n"));
  using Axes = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(students[0].axes, (Axes{{"sigma", "50"}, {"method", "dpdfd"}, {"steps", "3"}}));
  EXPECT_EQ(students[1].axes, (Axes{{"method", "dpsgd"}, {"noise_multiplier", "2"}, {"steps", "3"}}));
}

TEST(SweepPlan, CombinationsThatDifferInNothingAreOneTrial) {
  const SweepPlan plan =
      GoodPlan(kBase +
               "[sweep]\nzip.a = [{ method = \"dpdfd\" }, { method = \"dpsgd\", noise_multiplier = 2 }]\n"
               "grid.sigma = [1, 2]\n");
  EXPECT_EQ(Students(plan).size(), 3U);
  bool warned = false;
  for (const Diagnostic& warning : plan.warnings)
    warned = warned || warning.message.find("are one trial") != std::string::npos;
  EXPECT_TRUE(warned);
}

TEST(SweepPlan, SharedSourceDoesNotReachDpsgd) {
  const auto students =
      Students(GoodPlan(kHead + kTeachers +
                        "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nsource = \"public\"\nvote_noise = 3\n"
                        "[sweep]\nzip.a = [{ method = \"dpdfd\" }, { method = \"dpsgd\", noise_multiplier = 2 }]\n"));
  EXPECT_EQ(students[0].source, QuerySource::public_split);
  EXPECT_EQ(students[1].source, QuerySource::private_split);
}

TEST(SweepPlan, ATeachersEpsilonIsThatOfTheRowsThatOnlyAskIt) {
  const auto students = Students(
      GoodPlan(kHead + "[teacher]\nhog = { network = \"hog-linear\", batch = \"full\", private = { epsilon = 3 } }\n"
                       "[trial]\nteacher = \"hog\"\n[sweep]\nzip.a = [{ method = \"dpdfd\", reading = \"sound\" }, "
                       "{ method = \"dpdfd\", reading = \"sound\", source = \"public\" }, "
                       "{ method = \"dpsgd\", epsilon = 1, claim = \"example\", calibrate = \"noise\" }]\n"));
  ASSERT_EQ(students.size(), 3U);
  std::vector<std::string> columns;
  for (const TrialSpec& student : students)
    for (const auto& [key, value] : student.axes)
      if (key == "epsilon") columns.push_back(value);
  EXPECT_THAT(columns, ElementsAre("3", "3", "1"));
  EXPECT_EQ(students[0].privacy.epsilon, 0);
  EXPECT_EQ(FindKind(students[1]), TrialKind::labelled_student);
}

TEST(SweepPlan, ProceduralQueriesHaveTheirOwnIdentity) {
  const std::string shared = kHead + kTeachers + "[trial]\nteacher = \"single\"\n";
  const auto plain = Students(GoodPlan(shared));
  const auto drawn =
      Students(GoodPlan(shared + "source = \"procedural\"\n[sweep]\ngrid.pictures = [\"writing\", \"natural\"]\n"));
  ASSERT_EQ(drawn.size(), 2U);
  EXPECT_NE(drawn[0].id, plain[0].id);
  EXPECT_NE(drawn[0].id, drawn[1].id);
  EXPECT_EQ(FormatKey(drawn[0], "latent"), "");
  EXPECT_EQ(FormatKey(plain[0], "pictures"), "");
}

TEST(SweepPlan, PublicMixesNeedUnlimitedQueries) {
  const std::string head =
      kHead +
      "[teacher]\nhog = { network = \"hog-linear\", batch = \"full\", private = { epsilon = 3 } }\n"
      "single = {}\nshards = { network = \"logistic\", members = 9 }\n[trial]\n";
  const auto students = Students(GoodPlan(head + "teacher = \"hog\"\nreading = \"sound\"\nsource = \"public-mixes\"\n"
                                                 "[sweep]\ngrid.augment = [\"crop-flip\", \"none\"]\n[table.t]\nrows = "
                                                 "[\"side_information\"]\ncolumns = [\"augment\"]\n"));
  ASSERT_EQ(students.size(), 2U);
  EXPECT_EQ(FindKind(students[0]), TrialKind::distilled_student);
  EXPECT_NE(students[0].id, students[1].id);
  EXPECT_THAT(students[0].axes,
              ::testing::Contains(::testing::Pair("side_information", "public pictures, domain knowledge")));
  for (const char* const asks :
       {"teacher = \"single\"\n", "teacher = \"shards\"\nreading = \"sound\"\nvote_noise = 3\nqueries = 9\n"})
    EXPECT_FALSE(PlanText(head + asks + "source = \"public-mixes\"\n").errors.empty()) << asks;
}

TEST(SweepPlan, VotesOnDrawnPicturesAreFittedToASetOfThem) {
  const auto students =
      Students(GoodPlan(kHead + kTeachers +
                        "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nsource = \"procedural\"\nvote_noise = 3\n"
                        "steps = 4\nbatch = 100\nqueries = 400\nlabel_steps = 9\naugment = \"elastic\"\n"));
  ASSERT_EQ(students.size(), 1U);
  EXPECT_EQ(students[0].labels.label_steps, 9);
  EXPECT_EQ(students[0].steps, 4);
  EXPECT_EQ(FormatKey(students[0], "student_steps"), "");
  EXPECT_EQ(FormatKey(students[0], "neighbours"), "");
}

TEST(SweepPlan, PartsOfVotesHaveTheirOwnIdentity) {
  const std::string shared = kHead + kTeachers + "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nvote_noise = 3\n";
  const auto plain = Students(GoodPlan(shared));
  const auto students = Students(GoodPlan(shared + "[sweep]\ngrid.grain = [1, 8, 16]\n"));
  ASSERT_EQ(students.size(), 3U);
  EXPECT_EQ(students[0].id, plain[0].id);
  EXPECT_NE(students[1].id, plain[0].id);
  EXPECT_NE(students[1].id, students[2].id);
}

TEST(SweepPlan, VotesOnGeneratedInputsHaveStepsAndNoLabelSteps) {
  const auto students = Students(GoodPlan(kHead + kTeachers +
                                          "[trial]\nteacher = \"shards\"\nreading = \"sound\"\nvote_noise = 3\n"
                                          "[sweep]\nzip.a = [{ source = \"public\", label_steps = 9 }, { source = "
                                          "\"generator\", steps = 7 }]\n"));
  EXPECT_EQ(students[0].labels.label_steps, 9);
  EXPECT_EQ(students[0].steps, TrialSpec{}.steps);
  EXPECT_EQ(students[1].steps, 7);
  EXPECT_EQ(students[1].labels.label_steps, TrialSpec{}.labels.label_steps);
}

TEST(SweepPlan, TheGeneratorNeedsSidesThatItCanDouble) {
  PlanHooks hooks = FakeHooks();
  hooks.inspect = [](DataSpec& data) {
    data.examples = 10000;
    data.width = 30;
    return Status();
  };
  const PlanOutcome outcome = PlanText(kBase, {}, hooks);
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("multiples of 4; those of data.digits are 28x30"));
}

TEST(SweepPlan, CalibrationComesBeforeTheId) {
  PlanHooks hooks = FakeHooks();
  hooks.calibrate = [](TrialSpec& spec) {
    if (spec.privacy.calibrate == Calibrate::noise) spec.release.noise_multiplier = 1.25;
    return Status();
  };
  const std::string text =
      kHead + "[trial]\nmethod = \"dpsgd\"\nclaim = \"example\"\nepsilon = 3\ncalibrate = \"noise\"\n";
  const SweepPlan plan = GoodPlan(text, {}, hooks);
  EXPECT_EQ(plan.trials[0].release.noise_multiplier, 1.25);
  EXPECT_EQ(plan.trials[0].id, ComputeTrialId(plan.trials[0]));
  EXPECT_NE(plan.trials[0].id, GoodPlan(text).trials[0].id);
}

TEST(SweepPlan, PathsAreRelativeToTheFileAndExpandVariables) {
  PlanHooks hooks = FakeHooks();
  hooks.lookup = [](const std::string& name) -> std::optional<std::string> {
    if (name == "PLACE") return "/data";
    return std::nullopt;
  };
  const auto path = [&hooks](const std::string& text) {
    const std::string sweep = "retort = 1\n[data.d]\nreader = \"idx\"\npath = \"" + text +
                              "\"\nsplit = { train = [0, 9000], test = [9000, 10000] }\n[trial]\nmethod = \"dpsgd\"\n"
                              "noise_multiplier = 1\n";
    const PlanOutcome outcome = ParseSweep(sweep, "/home/me/sweeps/a.toml", {}, hooks);
    return outcome.plan ? outcome.plan->data.at(0)->path : "";
  };
  EXPECT_EQ(path("${PLACE}/mnist"), "/data/mnist");
  EXPECT_EQ(path("../data"), "/home/me/data");
  EXPECT_EQ(path("/absolute"), "/absolute");
  EXPECT_EQ(path("${OTHER}/mnist"), "");
}

TEST(SweepPlan, InspectionFillsTheDataThatTrialsShare) {
  const SweepPlan plan = GoodPlan(kBase);
  EXPECT_EQ(plan.data[0]->digest, std::string(64, 'a'));
  for (const TrialSpec& trial : plan.trials) EXPECT_EQ(trial.data, plan.data[0]);
}

TEST(SweepPlan, TablesAreRead) {
  const SweepPlan plan = GoodPlan(kBase +
                                  "[table.main]\nrows = [\"method\", \"seed\"]\ncolumns = [\"data\"]\n"
                                  "published = \"a/b\"\n");
  ASSERT_EQ(plan.tables.size(), 1U);
  EXPECT_EQ(plan.tables[0].name, "main");
  EXPECT_THAT(plan.tables[0].rows, ElementsAre("method", "seed"));
  EXPECT_THAT(plan.tables[0].columns, ElementsAre("data"));
  EXPECT_EQ(plan.tables[0].metric, "test.accuracy");
  EXPECT_EQ(plan.tables[0].published, "a/b");
}

TEST(SweepPlan, SleepingTrialsNeedNeitherDataNorTeacher) {
  const SweepPlan plan =
      GoodPlan("retort = 1\n[trial]\nmethod = \"sleep\"\nsteps = 2\n[sweep]\ngrid.seconds = [0.5, 1]\n");
  ASSERT_EQ(plan.trials.size(), 2U);
  EXPECT_EQ(plan.trials[0].data, nullptr);
  EXPECT_EQ(plan.trials[0].parent, std::nullopt);
  EXPECT_EQ(plan.trials[0].seconds, 0.5);
  EXPECT_EQ(plan.trials[0].steps, 2);
  EXPECT_THAT(Names(plan), ElementsAre("sleep-seconds0.5-s0", "sleep-seconds1-s0"));
  EXPECT_NE(plan.trials[0].id, plan.trials[1].id);
}

TEST(SweepPlan, SleepTrialsLeaveDataAndTeachersAlone) {
  const auto students =
      Students(GoodPlan(kBase + "[sweep]\nzip.row = [{ method = \"sleep\", seconds = 2 }, { method = \"dpdfd\" }]\n"));
  ASSERT_EQ(students.size(), 2U);
  EXPECT_EQ(students[0].data, nullptr);
  EXPECT_EQ(students[0].steps, 1) << "its preset";
  EXPECT_EQ(students[0].parent, std::nullopt);
  EXPECT_NE(students[1].data, nullptr);
}

TEST(SweepPlan, OtherMethodsStillNeedData) {
  const PlanOutcome outcome = PlanText(
      "retort = 1\n[sweep]\nzip.row = [{ method = \"sleep\" }, { method = \"dpsgd\", noise_multiplier = 1 "
      "}]\n");
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("needs a [data.NAME] table"));
}

TEST(SweepPlan, LongNapIsAnErrorUnlessTheDeadlineAllowsIt) {
  const std::string text = "retort = 1\n[trial]\nmethod = \"sleep\"\nseconds = 600\n";
  const PlanOutcome outcome = PlanText(text);
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("raise steps"));
  EXPECT_EQ(GoodPlan(text + "steps = 10\n").trials.size(), 1U);
  EXPECT_EQ(GoodPlan(text + "deadline = \"1h\"\n").trials.size(), 1U);
}

TEST(SweepPlan, StopRuleIsATableAndPartOfTheIdentity) {
  const auto plain = Students(GoodPlan(kBase));
  const auto ruled = Students(GoodPlan(kBase + "stop = { metric = \"loss\", below = 0.5, after = 20, every = 5 }\n"));
  ASSERT_EQ(ruled.size(), 1U);
  EXPECT_EQ(ruled[0].stop.metric, StopMetric::loss);
  EXPECT_FALSE(ruled[0].stop.above);
  EXPECT_EQ(ruled[0].stop.threshold, 0.5);
  EXPECT_EQ(ruled[0].stop.after, 20);
  EXPECT_EQ(ruled[0].stop.every, 5);
  EXPECT_NE(ruled[0].id, plain[0].id);
  const auto axis = Students(
      GoodPlan(kBase + "[sweep]\nzip.a = [{ stop = { metric = \"test.accuracy\", above = 0.9 } }, { steps = 7 }]\n"));
  EXPECT_EQ(axis[0].stop.metric, StopMetric::accuracy);
  EXPECT_TRUE(axis[0].stop.above);
  EXPECT_EQ(axis[1].stop.metric, StopMetric::none);
}

TEST(SweepPlan, BadStopRulesAreLocated) {
  for (const auto& [text, complaint] : std::initializer_list<std::pair<const char*, const char*>>{
           {"stop = 3", "takes a table"},
           {"stop = { metric = \"loss\" }", "either above or below"},
           {"stop = { metric = \"los\", above = 1 }", "did you mean \"loss\"?"},
           {"stop = { above = 1 }", "missing trial.stop.metric"},
           {"stop = { metric = \"loss\", above = 1, evry = 2 }", "did you mean \"every\"?"}}) {
    const PlanOutcome outcome = PlanText(kBase + text + "\n");
    ASSERT_EQ(outcome.errors.size(), 1U) << text;
    EXPECT_THAT(outcome.errors[0].message, HasSubstr(complaint)) << text;
    EXPECT_EQ(outcome.errors[0].line, 12) << text;
  }
}

TEST(SweepPlan, StopByThePrivateLossOfDpSgdIsRefused) {
  const std::string rule = "stop = { metric = \"loss\", below = 1 }";
  const PlanOutcome student = PlanText(kHead + "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\n" + rule + "\n");
  ASSERT_EQ(student.errors.size(), 1U);
  EXPECT_THAT(student.errors[0].message, HasSubstr("private examples"));
  const PlanOutcome teacher =
      PlanText(kHead + "[teacher]\ndp = { private = { noise_multiplier = 1, norm_bound = 0.1 }, " + rule +
               " }\n[trial]\nteacher = \"dp\"\nreading = \"sound\"\n");
  ASSERT_EQ(teacher.errors.size(), 1U);
  EXPECT_THAT(teacher.errors[0].message, HasSubstr("private examples"));
}

TEST(SweepPlan, BatchNormsAreRefusedForDpSgdAndGroupNormsAreNot) {
  const auto student = [](const std::string& network) {
    return PlanText(kHead + "[trial]\nmethod = \"dpsgd\"\nnoise_multiplier = 1\nstudent = \"" + network + "\"\n");
  };
  const auto teacher = [](const std::string& network) {
    return PlanText(kHead + "[teacher]\ndp = { network = \"" + network +
                    "\", private = { noise_multiplier = 1, norm_bound = 0.1 } }\n"
                    "[trial]\nteacher = \"dp\"\nreading = \"sound\"\n");
  };
  for (const std::string network : {"resnet18-cifar", "wrn16-1"}) {
    for (const PlanOutcome& outcome : {student(network), teacher(network)}) {
      ASSERT_EQ(outcome.errors.size(), 1U) << network;
      EXPECT_THAT(outcome.errors[0].message, HasSubstr("batch norms of \"" + network + "\" mix the examples"));
    }
    for (const PlanOutcome& outcome : {student(network + "-gn"), teacher(network + "-gn")})
      EXPECT_TRUE(outcome.errors.empty()) << network;
  }
}

// One example would decide how long every member is trained, and votes count the change of one member.
TEST(SweepPlan, StopRuleOfAnEnsembleIsRefused) {
  for (const std::string rule :
       {"stop = { metric = \"loss\", below = 0.9 }", "stop = { metric = \"test.accuracy\", above = 0.8 }"}) {
    const PlanOutcome outcome =
        PlanText(kHead + "[teacher]\nshards = { network = \"logistic\", members = 20, epochs = 40, " + rule +
                 " }\n[trial]\nteacher = \"shards\"\nreading = \"sound\"\nsource = \"public\"\nqueries = 9\n"
                 "vote_noise = 40\n");
    ASSERT_EQ(outcome.errors.size(), 1U) << rule;
    EXPECT_THAT(outcome.errors[0].message, HasSubstr("members of an ensemble are trained apart")) << rule;
  }
}

// [data.digits] of kHead and a second table of the same files.
std::string TwoNames(const std::string& first_budget, const std::string& second) {
  return kHead + first_budget +
         "[data.again]\nreader = \"idx\"\npath = \"elsewhere\"\n"
         "split = { shuffle = 2, train = [0, 8000], public = [8000, 9000], test = [9000, 10000] }\n" +
         second + kTeachers +
         "[trial]\nteacher = \"single\"\n[sweep]\nname = \"s\"\nseeds = [0]\ngrid.data = [\"digits\", "
         "\"again\"]\n";
}

TEST(SweepPlan, BudgetCoversTheSameFilesUnderEveryName) {
  const SweepPlan plan = GoodPlan(TwoNames("budget = { epsilon = 1, delta = 1e-5 }\n", ""));
  ASSERT_EQ(plan.data.size(), 2U);
  for (const TrialSpec& trial : plan.trials) {
    ASSERT_TRUE(trial.data->budget) << trial.name;
    EXPECT_EQ(trial.data->budget->epsilon, 1);
  }
  EXPECT_TRUE(std::any_of(plan.warnings.begin(), plan.warnings.end(), [](const Diagnostic& warning) {
    return warning.message.find("the budget of data.digits covers both") != std::string::npos;
  }));
}

TEST(SweepPlan, BudgetCoversTheSameExamplesPackedAndUnpacked) {
  PlanHooks hooks = FakeHooks();
  hooks.inspect = [](DataSpec& data) {
    data.digest = std::string(64, data.name == "digits" ? 'p' : 'd');
    data.examples = 10000;
    return Status();
  };
  const std::string text = TwoNames("budget = { epsilon = 1, delta = 1e-5 }\n", "");
  for (const TrialSpec& trial : GoodPlan(text, {}, hooks).trials)
    EXPECT_EQ(trial.data->budget.has_value(), trial.data->name == "digits");
  hooks.unpacked = [](const DataSpec&) { return Result<std::string>(std::string(64, 'd')); };
  const SweepPlan plan = GoodPlan(text, {}, hooks);
  for (const TrialSpec& trial : plan.trials) EXPECT_TRUE(trial.data->budget) << trial.name;
  EXPECT_EQ(plan.unpacked, (UnpackedDigests{{std::string(64, 'p'), std::string(64, 'd')}}));
}

TEST(SweepPlan, TwoBudgetsOfTheSameFilesAreAnError) {
  const std::string first = "budget = { epsilon = 1, delta = 1e-5 }\n";
  const PlanOutcome outcome = PlanText(TwoNames(first, "budget = { epsilon = 2, delta = 1e-5 }\n"));
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].key, "data.again.budget");
  EXPECT_TRUE(PlanText(TwoNames(first, first)).plan.has_value());
}

TEST(SweepPlan, BudgetOfATableThatNoTrialUsesCoversTheSameFiles) {
  PlanOptions options;
  options.overrides = {"sweep.grid.data=[\"again\"]"};
  const SweepPlan plan = GoodPlan(TwoNames("budget = { epsilon = 1, delta = 1e-5 }\n", ""), options);
  for (const TrialSpec& trial : plan.trials) EXPECT_TRUE(trial.data->budget) << trial.name;
}

TEST(SweepPlan, FullBatchIsTheNumberOfPrivateExamples) {
  const std::string rows = kHead +
                           "[teacher]\n"
                           "hog = { network = \"hog-linear\", batch = \"full\", private = { noise_multiplier = 30 } }\n"
                           "[sweep]\nzip.row = [{ method = \"dp-gd\", noise_multiplier = 30 },\n"
                           "           { method = \"dpdfd\", reading = \"sound\", teacher = \"hog\" }]\n";
  const SweepPlan plan = GoodPlan(rows);
  ASSERT_EQ(plan.trials.size(), 3U);
  for (const TrialSpec& trial : plan.trials) {
    if (trial.method == "dpdfd") continue;
    EXPECT_EQ(trial.method, "dp-gd") << trial.name;
    EXPECT_EQ(trial.batch, 8000);
    EXPECT_EQ(trial.network, "hog-linear");
    EXPECT_EQ(trial.optimization.lr, 16);
    EXPECT_EQ(trial.steps, 100);
  }
}

TEST(SweepPlan, SampledTeachersKeepTheirMethodAndPreset) {
  const SweepPlan plan =
      GoodPlan(kHead + kTeachers + "[trial]\nmethod = \"dpdfd\"\nreading = \"sound\"\nteacher = \"dp\"\n");
  EXPECT_EQ(plan.trials.front().method, "dpsgd");
  EXPECT_EQ(plan.trials.front().batch, 1024);
}

}  // namespace
}  // namespace retort
