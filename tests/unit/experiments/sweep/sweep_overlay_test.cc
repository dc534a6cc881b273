// Profiles and KEY=VALUE arguments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using ::testing::HasSubstr;

const std::string kText = kHead + kTeachers +
                          "[trial]\nteacher = \"single\"\nsteps = 10\n"
                          "[sweep]\nseeds = [0, 1]\ngrid.sigma = [1, 2]\nzip.row = [{ reading = \"working\" }]\n"
                          "[profile.fast]\ntrial.steps = 3\nteacher.single.epochs = 1\nsweep.seeds = [7]\n";

TEST(SweepOverlay, ProfileLiesOverTheFile) {
  const auto students = Students(GoodPlan(kText, {{}, "fast"}));
  ASSERT_EQ(students.size(), 2U);
  EXPECT_EQ(students[0].steps, 3);
  EXPECT_EQ(students[0].seed, 7U);
  EXPECT_EQ(GoodPlan(kText, {{}, "fast"}).trials[0].epochs, 1);
  EXPECT_EQ(GoodPlan(kText).trials[0].epochs, 5);
}

TEST(SweepOverlay, ArgumentsLieOverTheProfile) {
  const auto students = Students(GoodPlan(kText, {{"trial.steps=4", "sweep.seeds=[9]"}, "fast"}));
  ASSERT_EQ(students.size(), 2U);
  EXPECT_EQ(students[0].steps, 4);
  EXPECT_EQ(students[0].seed, 9U);
}

TEST(SweepOverlay, LaterArgumentsWin) {
  EXPECT_EQ(Students(GoodPlan(kText, {{"trial.steps=4", "trial.steps=5"}, ""}))[0].steps, 5);
}

TEST(SweepOverlay, ArgumentsReachEveryTable) {
  const SweepPlan plan = GoodPlan(kText, {{"teacher.single.epochs=2", "data.digits.path=/elsewhere",
                                           "data.digits.split.shuffle=4", "sweep.name=other"},
                                          ""});
  EXPECT_EQ(plan.trials[0].epochs, 2);
  EXPECT_EQ(plan.data[0]->path, "/elsewhere");
  EXPECT_EQ(plan.data[0]->split.shuffle, 4U);
  EXPECT_EQ(plan.data[0]->split.train, (IndexRange{0, 8000}));
  EXPECT_EQ(plan.name, "other");
}

TEST(SweepOverlay, BareWordsAreStrings) {
  EXPECT_EQ(Students(GoodPlan(kText, {{"trial.noise=seeded"}, ""}))[0].noise, NoiseMode::seeded);
  EXPECT_EQ(Students(GoodPlan(kText, {{"trial.deadline=90s"}, ""}))[0].execution.deadline_seconds, 90);
}

struct BadArgument {
  const char* argument;
  int column;
  const char* words;
  const char* choice;
};
void PrintTo(const BadArgument& bad, std::ostream* out) { *out << bad.argument; }

class BadArgumentTest : public ::testing::TestWithParam<BadArgument> {};

TEST_P(BadArgumentTest, IsOneErrorThatShowsTheArgument) {
  const BadArgument& bad = GetParam();
  const PlanOutcome outcome = PlanText(kText, {{bad.argument}, ""});
  ASSERT_EQ(outcome.errors.size(), 1U) << (outcome.errors.size() > 1 ? Render(outcome.errors[1]) : "no error");
  const Diagnostic& error = outcome.errors[0];
  EXPECT_EQ(error.file, "command line");
  EXPECT_EQ(error.source_line, bad.argument);
  EXPECT_EQ(error.column, bad.column) << Render(error);
  EXPECT_THAT(error.message, HasSubstr(bad.words));
  EXPECT_EQ(error.choices.empty() ? "" : error.choices.front(), bad.choice) << Render(error);
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadArgumentTest,
    ::testing::Values(
        BadArgument{"trial.sigma=3", 7, "it varies on the axis sweep.grid.sigma", "sweep.grid.sigma"},
        BadArgument{"trial.reading=printed", 7, "it varies on the axis sweep.zip.row", "sweep.zip.row"},
        BadArgument{"trial.steps", 1, "is not KEY=VALUE", ""}, BadArgument{"=3", 1, "is not KEY=VALUE", ""},
        BadArgument{"trial.steps=[1", 13, "with a TOML value", ""},
        BadArgument{"trial.steps=1,,2", 13, "with a TOML value", ""},
        BadArgument{"trial.sigma=3,4", 7, "it varies on the axis sweep.grid.sigma", "sweep.grid.sigma"},
        BadArgument{"+=3", 3, "with a TOML value", ""}, BadArgument{"+++trial.steps=3", 16, "with a TOML value", ""},
        BadArgument{"~trial.steps=3", 1, "is not KEY=VALUE or ~KEY", ""}, BadArgument{"~", 1, "is not KEY=VALUE", ""},
        BadArgument{"~trial.stpes", 8, "~ removes what the sweep file has", "steps"},
        BadArgument{"+trial.stpes=3", 8, "unknown key", "steps"},
        BadArgument{"steps=3", 1, "did you mean \"trial.steps\"?", "trial.steps"},
        BadArgument{"trail.steps=3", 1, "unknown key \"trail\"", "trial.steps"},
        BadArgument{"teachr.single.epochs=2", 1, "did you mean \"teacher.single.epochs\"?", "teacher.single.epochs"},
        BadArgument{"trial=3", 1, "name a key of it", ""}, BadArgument{"trial.stpes=3", 7, "unknown key", "steps"},
        BadArgument{"trial.steps=0", 13, "out of range", ""},
        BadArgument{"teacher.signle.epochs=3", 9, "unknown [teacher] entry \"signle\"", "single"},
        BadArgument{"data.digit.path=x", 6, "unknown [data] entry \"digit\"", "digits"},
        BadArgument{"profile.fast.trial.steps=1", 1,
                    "starts with data., network., teacher., trial., sweep., table. or figure.", ""}));

TEST(SweepOverlay, SeveralValuesAreAnAxisOfTheGrid) {
  const SweepPlan list = GoodPlan(kText, {{"trial.kappa=0.25,0.5", "sweep.seeds=4,5"}, ""});
  const SweepPlan grid = GoodPlan(kText, {{"sweep.grid.kappa=[0.25,0.5]", "sweep.seeds=[4,5]"}, ""});
  EXPECT_EQ(list.resolved_toml, grid.resolved_toml);
  EXPECT_EQ(list.trials.size(), grid.trials.size());
  const SweepPlan words = GoodPlan(kText, {{"trial.noise=seeded,secure"}, ""});
  EXPECT_THAT(words.resolved_toml, HasSubstr("noise = [\"seeded\", \"secure\"]"));
}

TEST(SweepOverlay, APlusBeforeAKeyChangesNothing) {
  for (const char* argument : {"+trial.kappa=0.5", "++trial.kappa=0.5"})
    EXPECT_EQ(GoodPlan(kText, {{argument}, ""}).resolved_toml,
              GoodPlan(kText, {{"trial.kappa=0.5"}, ""}).resolved_toml);
}

TEST(SweepOverlay, ATildeRemovesWhatTheFileHas) {
  const SweepPlan without = GoodPlan(kText, {{"~sweep.grid.sigma", "trial.sigma=3"}, ""});
  EXPECT_THAT(without.resolved_toml, ::testing::Not(HasSubstr("grid.sigma")));
  EXPECT_LT(without.trials.size(), GoodPlan(kText, {{}, ""}).trials.size());
}

std::vector<std::string> Messages(const std::vector<Diagnostic>& diagnostics) {
  std::vector<std::string> messages;
  for (const Diagnostic& one : diagnostics) messages.push_back(one.message);
  return messages;
}

TEST(SweepOverlay, RowsThatWriteTheKeyKeepTheirs) {
  const std::string text = kHead + kTeachers +
                           "[trial]\nteacher = \"single\"\nsteps = 10\n[sweep]\n"
                           "zip.row = [{ sigma = 1 }, { sigma = 2, reading = \"printed\" }]\n";
  const SweepPlan plan = GoodPlan(text, {{"trial.reading=stated"}, ""});
  const auto students = Students(plan);
  ASSERT_EQ(students.size(), 2U);
  EXPECT_EQ(students[0].reading, Reading::stated);
  EXPECT_EQ(students[1].reading, Reading::printed);
  EXPECT_THAT(Messages(plan.warnings),
              ::testing::Contains("trial.reading reaches 1 of the 2 rows of sweep.zip.row; the others write reading "
                                  "themselves and keep theirs"));
}

const std::string kMixed = kHead + kTeachers +
                           "[sweep]\nzip.row = [\n"
                           "{ method = \"dpdfd\", teacher = \"single\" },\n"
                           "{ method = \"alibi\" },\n"
                           "{ method = \"pate\", teacher = \"shards\", vote_noise = 10 },\n]\n";

// A method without readings keeps its own, and its trials their ids.
TEST(SweepOverlay, ReadingReachesMethodsThatHaveOne) {
  const SweepPlan without = GoodPlan(kMixed), with = GoodPlan(kMixed, {{"trial.reading=stated"}, ""});
  const auto before = Students(without), after = Students(with);
  ASSERT_EQ(before.size(), 3U);
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(after[0].reading, Reading::stated);
  EXPECT_NE(after[0].id, before[0].id);
  EXPECT_EQ(after[1].id, before[1].id);
  EXPECT_EQ(after[2].id, before[2].id);
  EXPECT_THAT(Messages(with.warnings),
              ::testing::Contains("trial.reading does not change the trials of alibi, pate, which have no readings"));
  EXPECT_THAT(Messages(without.warnings), ::testing::Not(::testing::Contains(HasSubstr("no readings"))));
}

TEST(SweepOverlay, ReadingInTheFileSaysWhomItDoesNotReach) {
  std::string text = kMixed;
  text.insert(text.find("[sweep]"), "[trial]\nreading = \"stated\"\n");
  const SweepPlan without = GoodPlan(kMixed), with = GoodPlan(text);
  EXPECT_EQ(Students(with)[1].id, Students(without)[1].id);
  EXPECT_EQ(Students(with)[2].id, Students(without)[2].id);
  std::vector<std::string> told;
  for (const Diagnostic& one : with.warnings)
    if (one.key == "trial.reading") told.push_back(Render(one));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told.front(), HasSubstr("test.toml:11:1"));
  EXPECT_THAT(told.front(),
              HasSubstr("trial.reading does not change the trials of alibi, pate, which have no readings"));
}

TEST(SweepOverlay, ControlCharactersInAnArgumentAreRefused) {
  for (const char* argument : {"trial.network=\"a\\u001b[2Jb\"", "table.\"a\\u202eb\".metric=x"}) {
    const PlanOutcome outcome = PlanText(kText, {{argument}, ""});
    ASSERT_EQ(outcome.errors.size(), 1U) << argument;
    EXPECT_EQ(outcome.errors[0].file, "command line");
    EXPECT_THAT(outcome.errors[0].message, HasSubstr("holds the control character U+"));
  }
}

TEST(SweepOverlay, UnknownProfileNamesTheNearest) {
  const PlanOutcome outcome = PlanText(kText, {{}, "fats"});
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].file, "command line");
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("unknown profile \"fats\"; did you mean \"fast\"?"));
  EXPECT_THAT(outcome.errors[0].choices, ::testing::ElementsAre("fast"));
}

TEST(SweepOverlay, AFileWithoutProfilesSaysSo) {
  const PlanOutcome outcome = PlanText("", {{}, "smoke"});
  EXPECT_THAT(outcome.errors, ::testing::Contains(::testing::Field(
                                  &Diagnostic::message,
                                  HasSubstr("unknown profile \"smoke\" (the sweep file has no [profile.NAME])"))));
}

TEST(SweepOverlay, ResolvedTextKeepsTheNameThatTheFileGave) {
  for (const char* sweep : {"", "[sweep]\nseeds = [3]\n"}) {
    const std::string text = kHead + kTeachers + "[trial]\nteacher = \"single\"\n" + sweep;
    const PlanOutcome first = ParseSweep(text, "sweeps/my naps.toml", {}, FakeHooks());
    ASSERT_TRUE(first.plan) << Render(first.errors.at(0));
    EXPECT_EQ(first.plan->name, "my naps");
    const PlanOutcome again = ParseSweep(first.plan->resolved_toml, "results/my naps/sweep.toml", {}, FakeHooks());
    ASSERT_TRUE(again.plan) << Render(again.errors.at(0));
    EXPECT_EQ(again.plan->name, "my naps");
    EXPECT_EQ(again.plan->resolved_toml, first.plan->resolved_toml);
  }
}

TEST(SweepOverlay, ResolvedTextPlansTheSameTrials) {
  const SweepPlan plan = GoodPlan(kText, {{"trial.kappa=0.5", "trial.noise=seeded"}, "fast"});
  const SweepPlan again = GoodPlan(plan.resolved_toml);
  ASSERT_EQ(plan.trials.size(), again.trials.size());
  for (std::size_t i = 0; i < plan.trials.size(); ++i) {
    EXPECT_EQ(plan.trials[i].id, again.trials[i].id);
    EXPECT_EQ(plan.trials[i].name, again.trials[i].name);
  }
  EXPECT_EQ(again.resolved_toml, plan.resolved_toml);
  EXPECT_THAT(plan.resolved_toml, ::testing::Not(HasSubstr("profile")));
}

}  // namespace
}  // namespace retort
