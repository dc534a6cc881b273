// [table.NAME]: where, interval and joins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const std::string kTableTrial = kHead + kTeachers + "[trial]\nteacher = \"single\"\n";

TableSpec MakeTable(const std::string& lines) {
  const SweepPlan plan = GoodPlan(kTableTrial + "[table.t]\nrows = [\"method\"]\n" + lines);
  return plan.tables.empty() ? TableSpec() : plan.tables.front();
}

std::string OnlyTableError(const std::string& lines) {
  const PlanOutcome outcome = PlanText(kTableTrial + "[table.t]\nrows = [\"method\"]\n" + lines);
  EXPECT_EQ(outcome.errors.size(), 1U) << lines;
  return outcome.errors.empty() ? "" : outcome.errors[0].key + ": " + outcome.errors[0].message;
}

TEST(TableSpecs, ATableOfRowsAloneTakesEveryTrialAndJoinsByName) {
  const TableSpec table = MakeTable("");
  EXPECT_EQ(table.interval, Interval::student_t);
  EXPECT_THAT(table.where, IsEmpty());
  EXPECT_THAT(table.joins, IsEmpty());
}

TEST(TableSpecs, ConditionsTakeAValueOrSeveral) {
  const TableSpec table = MakeTable("where = { method = [\"dpdfd\", \"dpsgd\"], sigma = 100, role = \"student\" }\n");
  ASSERT_EQ(table.where.size(), 3U);
  EXPECT_EQ(table.where[0].key, "method");
  EXPECT_THAT(table.where[0].values, ElementsAre("dpdfd", "dpsgd"));
  EXPECT_THAT(table.where[1].values, ElementsAre("100"));
  EXPECT_EQ(table.where[2].key, "role");
}

TEST(TableSpecs, IntervalIsReadByItsName) {
  EXPECT_EQ(MakeTable("interval = \"bootstrap\"\n").interval, Interval::bootstrap);
  EXPECT_EQ(MakeTable("interval = \"t\"\n").interval, Interval::student_t);
  EXPECT_THAT(OnlyTableError("interval = \"bootstap\"\n"), HasSubstr("did you mean \"bootstrap\""));
}

TEST(TableSpecs, JoinsNameColumnsOfThePublishedValueOrNone) {
  const TableSpec table = MakeTable(
      "joins = [{ if = { sigma = 100 }, published = { approach = \"RONA\", epsilon = 7.68 } },\n"
      "         { if = { sigma = 50 }, published = \"none\" }]\n");
  ASSERT_EQ(table.joins.size(), 2U);
  EXPECT_EQ(table.joins[0].conditions[0].key, "sigma");
  EXPECT_THAT(table.joins[0].columns, ElementsAre(Pair("approach", "RONA"), Pair("epsilon", "7.68")));
  EXPECT_THAT(table.joins[1].columns, IsEmpty());
}

TEST(TableSpecs, MistakesNameTheirKey) {
  EXPECT_THAT(OnlyTableError("where = { sigmaa = 100 }\n"), HasSubstr("table.t.where.sigmaa: unknown key"));
  EXPECT_THAT(OnlyTableError("where = { sigma = [] }\n"), HasSubstr("table.t.where.sigma: "));
  EXPECT_THAT(OnlyTableError("where = {}\n"), HasSubstr("no condition"));
  EXPECT_THAT(OnlyTableError("where = { sigma = { a = 1 } }\n"), HasSubstr("takes values"));
  EXPECT_THAT(OnlyTableError("joins = [{ if = { sigma = 1 } }]\n"), HasSubstr("table.t.joins: "));
  EXPECT_THAT(OnlyTableError("joins = [{ if = { sigma = 1 }, published = { aproach = \"X\" } }]\n"),
              HasSubstr("did you mean \"approach\""));
  EXPECT_THAT(OnlyTableError("joins = [{ if = { sigma = 1 }, published = { epsilon = \"1\" } }]\n"),
              HasSubstr("takes a number"));
  EXPECT_THAT(OnlyTableError("joins = [{ if = { sigma = 1 }, published = \"nothing\" }]\n"), HasSubstr("\"none\""));
}

TEST(TableSpecs, ThePlanKnowsItsProfile) {
  PlanOptions options;
  options.profile = "smoke";
  EXPECT_EQ(GoodPlan(kTableTrial + "[profile.smoke.trial]\nsteps = 2\n", options).profile, "smoke");
  EXPECT_EQ(GoodPlan(kTableTrial).profile, "");
}

}  // namespace
}  // namespace retort
