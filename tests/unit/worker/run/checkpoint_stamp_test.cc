#include "worker/run/checkpoint_stamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/methods/trial_spec.h"

namespace retort::worker {
namespace {

using ::testing::HasSubstr;
using Attributes = std::map<std::string, std::string>;

TrialSpec Spec() {
  TrialSpec spec;
  spec.data = std::make_shared<DataSpec>();
  spec.steps = 6;
  return spec;
}

TEST(CheckpointStamp, StampIsAcceptedByTheTrialThatMadeIt) {
  Attributes attributes;
  StampCheckpoint(attributes, Spec(), 2);
  EXPECT_TRUE(CheckStamp(attributes, Spec(), 2).ok());
  TrialSpec slower = Spec();
  slower.execution.checkpoint_seconds = 3;
  EXPECT_TRUE(CheckStamp(attributes, slower, 2).ok()) << "not part of identity";
}

TEST(CheckpointStamp, AnotherTrialGangOrRevisionIsRefusedByName) {
  Attributes attributes;
  StampCheckpoint(attributes, Spec(), 2);
  EXPECT_THAT(CheckStamp(attributes, Spec(), 1).message(), HasSubstr("the gang's size differs"));
  TrialSpec longer = Spec();
  longer.steps = 7;
  EXPECT_THAT(CheckStamp(attributes, longer, 2).message(), HasSubstr("the trial's spec differs"));
  attributes["revision"] = "0";
  EXPECT_THAT(CheckStamp(attributes, Spec(), 2).message(), HasSubstr("the revision of its format differs"));
  EXPECT_EQ(CheckStamp({}, Spec(), 2).code(), StatusCode::refused);
}

TEST(CheckpointStamp, KindsOfDeviceAreKeptInTheirOrder) {
  Attributes attributes;
  EXPECT_EQ(DescribeTrainedOn(attributes, "cuda:1"), "cuda");
  StampTrainedOn(attributes, "cuda");
  EXPECT_EQ(DescribeTrainedOn(attributes, "cuda:0"), "cuda");
  EXPECT_EQ(DescribeTrainedOn(attributes, "cpu"), "cuda, cpu");
  StampTrainedOn(attributes, "cuda, cpu");
  EXPECT_EQ(DescribeTrainedOn(attributes, "cpu"), "cuda, cpu");
  EXPECT_EQ(DescribeTrainedOn(attributes, "cuda:0"), "cuda, cpu, cuda");
}

}  // namespace
}  // namespace retort::worker
