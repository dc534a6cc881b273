#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "orchestrator/results/plan_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

// Without anything remembered, and with a teacher's own claims where there is one.
std::vector<privacy::Claim> WorkedOut(const TrialSpec& spec, const TrialSpec* teacher) {
  std::vector<privacy::Claim> of_teacher;
  if (teacher != nullptr) of_teacher = WorkedOut(*teacher, nullptr);
  return privacy::ComputeClaims({&spec, of_teacher}, privacy::PlanEvents(spec).value());
}

TEST(PlannedClaims, AStudentsRestOnThoseOfItsTeacher) {
  const auto data = testing::SampleData();
  TrialSpec teacher = testing::SampleTeacher(data), student = testing::SampleStudent(data, 0);
  student.reading = Reading::sound;
  PlannedClaims claims;
  const std::vector<privacy::Claim> of_plain = claims.Of(student, &teacher);
  EXPECT_EQ(of_plain, WorkedOut(student, &teacher));
  teacher.method = "dpsgd";
  teacher.release.noise_multiplier = 4;
  EXPECT_EQ(claims.Of(student, &teacher), WorkedOut(student, &teacher));
  EXPECT_NE(claims.Of(student, &teacher), of_plain);
  EXPECT_EQ(claims.Of(student, nullptr), WorkedOut(student, nullptr));
}

bool AnyProven(const std::vector<privacy::Claim>& claims) {
  return std::any_of(claims.begin(), claims.end(),
                     [](const privacy::Claim& claim) { return claim.status == privacy::ClaimStatus::proven; });
}

TEST(PlannedClaims, NothingIsProvenOfWhatAuditsRefuteNorOfItsStudents) {
  const auto data = testing::SampleData();
  TrialSpec teacher = testing::SampleTeacher(data), student = testing::SampleStudent(data, 0);
  student.reading = Reading::sound;
  teacher.method = "dpsgd";
  teacher.release.noise_multiplier = 4;
  teacher.id = TrialId::FromHex("00000000000000aa").value();
  PlannedClaims whole;
  ASSERT_TRUE(AnyProven(whole.Of(teacher, nullptr)));
  ASSERT_TRUE(AnyProven(whole.Of(student, &teacher)));
  PlannedClaims left({{teacher.id, "refuted-by-audit"}});
  EXPECT_FALSE(AnyProven(left.Of(teacher, nullptr)));
  EXPECT_EQ(left.Of(teacher, nullptr).at(0).reason, "refuted-by-audit");
  for (const privacy::Claim& claim : left.Of(student, &teacher))
    EXPECT_FALSE(claim.status == privacy::ClaimStatus::proven && claim.adjacency == privacy::Adjacency::example);
}

TEST(PlannedClaims, NoMoreAreHeldThanTheLimitHoweverManyDiffer) {
  const auto data = testing::SampleData();
  TrialSpec student = testing::SampleStudent(data, 0);
  const TrialSpec teacher = testing::SampleTeacher(data);
  PlannedClaims claims;
  for (std::size_t i = 0; i < 2 * PlannedClaims::kMaxRemembered; ++i) {
    student.release.sigma = 1 + static_cast<double>(i);
    const std::vector<privacy::Claim>& found = claims.Of(student, &teacher);
    ASSERT_LE(claims.remembered(), PlannedClaims::kMaxRemembered + 1);
    if (i % 1000 == 0) {
      EXPECT_EQ(found, WorkedOut(student, &teacher)) << student.release.sigma;
    }
  }
}

TEST(TeacherSpecs, AStudentFindsItsTeacherAndAnotherTrialFindsNone) {
  const testing::Sample sample = testing::SampleSweep();
  const TeacherSpecs teachers(sample.plan.trials);
  EXPECT_EQ(teachers.Of(sample.plan.trials[1]), &sample.plan.trials[0]);
  EXPECT_EQ(teachers.Of(sample.plan.trials[0]), nullptr);
  TrialSpec orphan = sample.plan.trials[1];
  orphan.parent = TrialId(7);
  EXPECT_EQ(teachers.Of(orphan), nullptr);
}

}  // namespace
}  // namespace retort::orchestrator::cli
