#include "orchestrator/results/trial_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;

TEST(TrialNames, ShownNameEndsInEightDigitsOfTheId) {
  EXPECT_EQ(FormatTrialName(testing::SampleTeacher(testing::SampleData())), "teacher-single-digits-s0-11111111");
}

TEST(TrialNames, IdPrefixAndNamesFindTheSameTrial) {
  const testing::Sample sample = testing::SampleSweep();
  for (const char* word : {"abc0000000000001", "dpdfd-working-digits-s1-abc00000", "dpdfd-working-digits-s1",
                           "dpdfd-working-digits-s1-abc0000000000001"}) {
    const Result<const TrialView*> found = FindTrial(sample.view, word);
    ASSERT_TRUE(found.ok()) << word << ": " << found.status().message();
    EXPECT_EQ((*found)->spec.seed, 1U) << word;
  }
}

TEST(TrialNames, AmbiguousWordListsTheTrials) {
  const testing::Sample sample = testing::SampleSweep();
  for (const char* word : {"abc0", "dpdfd"}) {
    const Result<const TrialView*> found = FindTrial(sample.view, word);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.status().code(), StatusCode::usage);
    EXPECT_THAT(found.status().message(), HasSubstr("fits 3 trials"));
    EXPECT_THAT(found.status().message(), HasSubstr("dpdfd-working-digits-s2-abc00000"));
    EXPECT_EQ(found.status().choices().size(), 3U);
  }
}

TEST(TrialNames, ANameWinsOverLongerOnesThatBeginWithIt) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[2].spec.name = "dpdfd-working-digits-s10";
  sample.view.trials[3].spec.name = "dpdfd-working-digits-s11";
  sample.view.trials[1].spec.name = "dpdfd-working-digits-s1";
  const Result<const TrialView*> found = FindTrial(sample.view, "dpdfd-working-digits-s1");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, &sample.view.trials[1]);
  EXPECT_FALSE(FindTrial(sample.view, "dpdfd-working-digits-s").ok()) << "the beginning of several";
  sample.view.trials[3].spec.name = "dpdfd-working-digits-s1";
  EXPECT_FALSE(FindTrial(sample.view, "dpdfd-working-digits-s1").ok()) << "the name of two";
}

TEST(TrialNames, UnknownWordNamesTheNearest) {
  const testing::Sample sample = testing::SampleSweep();
  const Result<const TrialView*> found = FindTrial(sample.view, "dpsdg-digits-s0");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.status().message(), HasSubstr("dpsgd-digits-s0"));
  EXPECT_EQ(found.status().choices().at(0), "dpsgd-digits-s0");
  EXPECT_THAT(found.status().message(), HasSubstr("`retort list --results results/sample` shows all"));
}

TEST(TrialNames, EmptyAndShortPrefixesFindNothing) {
  const testing::Sample sample = testing::SampleSweep();
  EXPECT_FALSE(FindTrial(sample.view, "").ok());
  EXPECT_FALSE(FindTrial(sample.view, "111").ok());
  EXPECT_TRUE(FindTrial(sample.view, "1111").ok());
}

}  // namespace
}  // namespace retort::orchestrator::cli
