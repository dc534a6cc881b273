#include "worker/run/trial_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TrialSpec Spec(Role role) {
  TrialSpec spec;
  auto data = std::make_shared<DataSpec>();
  data->sensitive_classes = {1};
  spec.data = data;
  spec.role = role;
  spec.network = "logistic";
  return spec;
}

Dataset Data() {
  Dataset data;
  data.shape = {1, 4, 4};
  data.classes = 2;
  return data;
}

TEST(TrialMetrics, EnsembleAndModuleHaveNoOneSize) {
  TrialSpec ensemble = Spec(Role::teacher), module = Spec(Role::teacher);
  ensemble.method = "ensemble";
  module.method = "loaded";
  module.network = kTorchScript;
  for (const TrialSpec& spec : {ensemble, module}) {
    const auto metrics = ComputeTrialMetrics(spec, Data(), {});
    ASSERT_TRUE(metrics.ok()) << metrics.status().message();
    EXPECT_THAT(*metrics, IsEmpty());
  }
}

TEST(TrialMetrics, SkippedPicturesAndSensitiveClassesAreCounted) {
  Dataset data = Data();
  data.skipped = 3;
  Outcome outcome;
  outcome.evaluation = storage::Evaluation{{4, 1, 1, 3}, 2, 7.0 / 9, 1, 9};
  const auto metrics = ComputeTrialMetrics(Spec(Role::teacher), data, outcome);
  ASSERT_TRUE(metrics.ok());
  EXPECT_THAT(*metrics, ElementsAre(Pair("data.skipped", 3), Pair("test.sensitive_accuracy", 0.75),
                                    Pair("student.parameters", 2 * 16 + 2)));
}

// A paper's table has the size of the teacher as that of the students, in one column.
TEST(TrialMetrics, StudentAndTeacherHaveTheSizeOfTheirNetwork) {
  for (const Role role : {Role::student, Role::teacher}) {
    const auto metrics = ComputeTrialMetrics(Spec(role), Data(), {});
    ASSERT_TRUE(metrics.ok()) << metrics.status().message();
    EXPECT_THAT(*metrics, ElementsAre(Pair("student.parameters", 2 * 16 + 2)));
  }
}

TEST(TrialMetrics, NetworkThatNobodyKnowsIsAnError) {
  TrialSpec spec = Spec(Role::student);
  spec.network = "unheard-of";
  EXPECT_EQ(ComputeTrialMetrics(spec, Data(), {}).status().code(), StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker
