// What shadows are said to take.
#include "orchestrator/results/audit_cost.h"

#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator {
namespace {

void Measure(const TrialSpec& spec, const TrialSpec* teacher, double seconds, CostModel& costs) {
  costs.Add(ComputeCostShape(spec, teacher),
            {.trial = "aa", .at = 1, .unit_seconds = seconds / CountWorkUnits(spec), .start_seconds = 0});
}

TEST(AuditCost, IsThatOfTeacherAndStudentForEachShadow) {
  const auto data = cli::testing::SampleData();
  const TrialSpec teacher = cli::testing::SampleTeacher(data), student = cli::testing::SampleStudent(data, 0);
  CostModel costs;
  Measure(teacher, nullptr, 30, costs);
  AuditCost cost = EstimateShadows(costs, {{&teacher, nullptr}, {&student, &teacher}}, 8);
  EXPECT_EQ(cost.trials, 2U);
  EXPECT_EQ(cost.unknown, 1U);
  EXPECT_NEAR(cost.seconds, 8 * 30, 1e-6);
  Measure(student, &teacher, 100, costs);
  cost = EstimateShadows(costs, {{&teacher, nullptr}, {&student, &teacher}}, 8);
  EXPECT_EQ(cost.unknown, 0U);
  EXPECT_NEAR(cost.seconds, 8 * (30 + 30 + 100), 1e-6);
}

TEST(AuditCost, LeavesOutWhatHasNoShadows) {
  const auto data = cli::testing::SampleData();
  TrialSpec teacher = cli::testing::SampleTeacher(data);
  const TrialSpec student = cli::testing::SampleStudent(data, 0);
  EXPECT_TRUE(HasShadows(teacher, nullptr));
  EXPECT_TRUE(HasShadows(student, &teacher));
  teacher.method = "loaded";
  EXPECT_FALSE(HasShadows(teacher, nullptr));
  EXPECT_FALSE(HasShadows(student, &teacher));
  teacher.method = "ensemble";  // never released; its students are
  EXPECT_FALSE(HasShadows(teacher, nullptr));
  EXPECT_TRUE(HasShadows(student, &teacher));
  EXPECT_EQ(EstimateShadows({}, {{&teacher, nullptr}}, 8).trials, 0U);
}

}  // namespace
}  // namespace retort::orchestrator
