// [figure.NAME]: what is read, and what is wrong with a figure, with line, column and the nearest choice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Lines 10 to 15; a figure's own text starts on line 16.
const std::string kSwept =
    "[trial]\n"
    "teacher = \"single\"\n"
    "[sweep]\n"
    "seeds = [0, 1]\n"
    "grid.sigma = [50, 100]\n"
    "grid.reading = [\"working\", \"printed\"]\n";

SweepPlan Planned(const std::string& figures, const PlanOptions& options = {}) {
  return GoodPlan(kHead + kTeachers + kSwept + figures, options);
}

TEST(FigureTable, EveryKeyReachesThePlan) {
  const SweepPlan plan = Planned(
      "[figure.noise]\nkind = \"line\"\nx = \"sigma\"\ny = \"test.member_accuracy\"\nseries = [\"reading\"]\npanels = "
      "\"data\"\n"
      "log_x = true\nlog_y = true\ntitle = \"T\"\nx_label = \"X\"\ny_label = \"Y\"\npublished = \"dpsd/table1\"\n"
      "teachers = true\n"
      "[figure.seen]\nkind = \"samples\"\ncount = 16\n"
      "[figure.near]\nkind = \"map\"\nx = \"sigma\"\ncount = 400\n");
  ASSERT_EQ(plan.figures.size(), 3U);
  const FigureSpec& noise = plan.figures[0];
  EXPECT_EQ(noise.name, "noise");
  EXPECT_EQ(noise.kind, FigureKind::line);
  EXPECT_EQ(noise.x, "sigma");
  EXPECT_EQ(noise.y, "test.member_accuracy");
  EXPECT_THAT(noise.series, ElementsAre("reading"));
  EXPECT_EQ(noise.panels, "data");
  EXPECT_TRUE(noise.log_x && noise.log_y && noise.teachers);
  EXPECT_EQ(noise.title + noise.x_label + noise.y_label, "TXY");
  EXPECT_EQ(noise.published, "dpsd/table1");
  EXPECT_EQ(plan.figures[1].kind, FigureKind::samples);
  EXPECT_EQ(plan.figures[1].count, 16);
  EXPECT_EQ(plan.figures[2].kind, FigureKind::map);
  EXPECT_EQ(plan.figures[2].count, 400);
}

TEST(FigureTable, NothingIsRequiredButTheNameOfACurve) {
  const SweepPlan plan = Planned("[figure.plain]\n[figure.loss]\nkind = \"curve\"\ny = \"train.student_loss\"\n");
  ASSERT_EQ(plan.figures.size(), 2U);
  EXPECT_EQ(plan.figures[0].y, "test.accuracy");
  EXPECT_EQ(plan.figures[0].x, "");
  EXPECT_EQ(plan.figures[1].kind, FigureKind::curve);
}

TEST(FigureTable, ProfilesAndArgumentsChangeFigures) {
  const std::string text =
      "[figure.noise]\nx = \"sigma\"\n[profile.small.figure.noise]\nx = \"reading\"\nkind = \"bar\"\n";
  PlanOptions options;
  EXPECT_EQ(Planned(text, options).figures[0].x, "sigma");
  options.profile = "small";
  EXPECT_EQ(Planned(text, options).figures[0].kind, FigureKind::bar);
  options.profile.clear();
  options.overrides = {"figure.noise.log_x=true"};
  EXPECT_TRUE(Planned(text, options).figures[0].log_x);
  options.overrides = {"figure.nosie.log_x=true"};
  const PlanOutcome outcome = PlanText(kHead + kTeachers + kSwept + text, options);
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("did you mean \"noise\"?"));
}

TEST(FigureTable, UnderAProfileAFigureWithoutItsAxisIsWarnedOf) {
  const std::string text = kHead + kTeachers +
                           "[trial]\nteacher = \"single\"\n[sweep]\nzip.row = [{ sigma = 50 }, { sigma = 100 }]\n"
                           "[figure.noise]\nx = \"sigma\"\n"
                           "[profile.small.sweep]\nzip.row = [{ steps = 3 }]\n";
  PlanOptions options;
  options.profile = "small";
  const SweepPlan plan = GoodPlan(text, options);
  ASSERT_EQ(plan.warnings.size(), 1U);
  EXPECT_THAT(plan.warnings[0].message, AllOf(HasSubstr("is no axis"), HasSubstr("sigma = 100")));
}

TEST(FigureTable, WhatOnlyWhenRulesVaryIsAnAxisToo) {
  const SweepPlan plan = GoodPlan(kHead + kTeachers +
                                  "[trial]\nteacher = \"single\"\n[sweep]\ngrid.reading = [\"working\", \"printed\"]\n"
                                  "when = [{ if = { reading = \"printed\" }, set = { sigma = 7 } }]\n"
                                  "[figure.noise]\nx = \"sigma\"\n");
  EXPECT_EQ(plan.figures.size(), 1U);
}

TEST(FigureTable, SeedsAreAnAxisWhereThereAreSeveral) {
  EXPECT_EQ(Planned("[figure.f]\nx = \"seed\"\n").figures.size(), 1U);
}

struct BadFigure {
  const char* name;
  std::string text;  // begins on line 16
  int line, column;
  const char* key;
  const char* words;
  const char* choice;
};

void PrintTo(const BadFigure& bad, std::ostream* out) { *out << bad.name; }

class BadFigureTest : public ::testing::TestWithParam<BadFigure> {};

TEST_P(BadFigureTest, IsOneLocatedError) {
  const BadFigure& bad = GetParam();
  const PlanOutcome outcome = PlanText(kHead + kTeachers + kSwept + bad.text);
  EXPECT_FALSE(outcome.plan.has_value());
  ASSERT_EQ(outcome.errors.size(), 1U) << (outcome.errors.size() > 1 ? Render(outcome.errors[1]) : "no error");
  const Diagnostic& error = outcome.errors.front();
  EXPECT_EQ(error.line, bad.line) << Render(error);
  EXPECT_EQ(error.column, bad.column) << Render(error);
  EXPECT_EQ(error.key, bad.key) << Render(error);
  EXPECT_THAT(error.message, HasSubstr(bad.words));
  EXPECT_EQ(error.choices.empty() ? "" : error.choices.front(), bad.choice) << Render(error);
}

const BadFigure kBadFigures[] = {
    {"XThatIsNoAxis", "[figure.f]\nx = \"steps\"\n", 17, 5, "figure.f.x",
     "no axis of this sweep: every trial has steps = 160; its axes are sigma, reading, seed", "seed"},
    {"XThatAppliesToNothing", "[figure.f]\nx = \"vote_noise\"\n", 17, 5, "figure.f.x", "applies to none of its trials",
     "reading"},
    {"MisspeltX", "[figure.f]\nx = \"sgima\"\n", 17, 5, "figure.f.x", "did you mean \"sigma\"?", "sigma"},
    {"MisspeltSeries", "[figure.f]\nseries = [\"raeding\"]\n", 17, 11, "figure.f.series", "did you mean \"reading\"?",
     "reading"},
    {"MisspeltPanels", "[figure.f]\npanels = \"dtaa\"\n", 17, 10, "figure.f.panels", "unknown key", "data"},
    {"MisspeltKey", "[figure.f]\npannels = \"data\"\n", 17, 1, "figure.f.pannels", "did you mean \"panels\"?",
     "panels"},
    {"UnknownKind", "[figure.f]\nkind = \"lines\"\n", 17, 8, "figure.f.kind", "did you mean \"line\"?", "line"},
    {"FlagThatIsNone", "[figure.f]\nlog_x = 1\n", 17, 9, "figure.f.log_x", "takes true or false, not the integer 1",
     ""},
    {"CurveWithoutAName", "[figure.f]\nkind = \"curve\"\n", 16, 9, "figure.f.y", "missing figure.f.y", ""},
    {"CurveWithPublished", "[figure.f]\nkind = \"curve\"\ny = \"l\"\npublished = \"dpsd/table1\"\n", 19, 13,
     "figure.f.published", "says nothing about a figure of kind \"curve\"", ""},
    {"LineWithACount", "[figure.f]\ncount = 3\n", 17, 9, "figure.f.count", "kind \"line\"", ""},
    {"TooManyImages", "[figure.f]\nkind = \"samples\"\ncount = 500\n", 18, 9, "figure.f.count", "out of range", ""},
    {"MapOfNoPicture", "[figure.f]\nkind = \"map\"\ncount = 0\n", 18, 9, "figure.f.count", "out of range", ""},
    {"MapOfTooManyPictures", "[figure.f]\nkind = \"map\"\ncount = 401\n", 18, 9, "figure.f.count", "out of range", ""},
    {"MapOfAMetric", "[figure.f]\nkind = \"map\"\ny = \"test.accuracy\"\n", 18, 5, "figure.f.y",
     "says nothing about a figure of kind \"map\"", ""},
    {"MapWithAnAxis", "[figure.f]\nkind = \"map\"\nlog_x = true\n", 18, 9, "figure.f.log_x", "kind \"map\"", ""},
    {"XAndPanelsAlike", "[figure.f]\nx = \"sigma\"\npanels = \"sigma\"\n", 18, 10, "figure.f.panels",
     "each key has one place", ""},
    {"NameThatIsNoFile", "[figure.\"a/b\"]\n", 16, 9, "figure.a/b", "that of its file", ""},
    {"FigureThatIsNoTable", "[figure]\nf = 3\n", 17, 5, "figure.f", "takes a table, not the integer 3", ""},
};

INSTANTIATE_TEST_SUITE_P(Each, BadFigureTest, ::testing::ValuesIn(kBadFigures),
                         [](const auto& bad) { return std::string(bad.param.name); });

TEST(FigureTable, ALogarithmicAxisHasNoPlaceForZero) {
  const PlanOutcome outcome = PlanText(kHead + kTeachers +
                                       "[trial]\nteacher = \"single\"\n[sweep]\ngrid.replay_fraction = [0, 0.5]\n"
                                       "[figure.f]\nx = \"replay_fraction\"\nlog_x = true\n");
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].line, 16);
  EXPECT_THAT(outcome.errors[0].message, HasSubstr("no place for replay_fraction = 0"));
}

}  // namespace
}  // namespace retort
