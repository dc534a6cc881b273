#include "orchestrator/cli/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

using ::testing::Contains;
using ::testing::Optional;

TEST(Published, TheProgramCarriesThePapersTables) {
  EXPECT_THAT(PublishedTableNames(), Contains("dpdfd-ijcai23/table1"));
  EXPECT_THAT(PublishedTableNames(), Contains("dpsd/table1"));
  EXPECT_TRUE(PublishedTable("dpdfd-ijcai23/table99").empty());
}

TEST(Published, JoinIsByDataSetMethodAndNumericEpsilon) {
  const auto values = PublishedTable("dpdfd-ijcai23/table1");
  EXPECT_THAT(FindPublished(values, {"MNIST", "dpdfd", 1.0}), Optional(0.9512));
  EXPECT_THAT(FindPublished(values, {"MNIST", "dpdfd", 10.0}), Optional(0.9751));
  EXPECT_THAT(FindPublished(values, {"MNIST", "teacher", std::nullopt}), Optional(0.9921));
  EXPECT_FALSE(FindPublished(values, {"MNIST", "dpdfd", 1.5}));
  EXPECT_FALSE(FindPublished(values, {"mnist10k", "dpdfd", 1.0}));
  EXPECT_FALSE(FindPublished(values, {"MNIST", "dpdfd", std::nullopt}));
}

TEST(Published, ValuesOfOneTeacherJoinUnderItsName) {
  const auto values = PublishedTable("dpdfd-ijcai23/table3");
  EXPECT_THAT(FindPublished(values, {"ImageNet", "dpdfd", 1.0, "accuracy", "ShuffleNet"}), Optional(0.4964));
  EXPECT_THAT(FindPublished(values, {"ImageNet", "dpdfd", 5.0, "accuracy", "ViT"}), Optional(0.7240));
  EXPECT_THAT(FindPublished(values, {"ImageNet", "teacher", std::nullopt, "accuracy", "AlexNet"}), Optional(0.5655));
  EXPECT_FALSE(FindPublished(values, {"ImageNet", "dpdfd", 1.0, "accuracy", "resnet50"}));
  EXPECT_FALSE(FindPublished(values, {"ImageNet", "dpdfd", 1.0}));
}

TEST(Published, ATableWhoseEpsilonHasADecimalJoinsToo) {
  const auto values = PublishedTable("dpdfd-ijcai23/table2");
  EXPECT_THAT(FindPublished(values, {"CIFAR10", "dpsgd", 2}), Optional(0.6623));
}

TEST(Published, DifferingValuesUnderOneKeyJoinNothing) {
  const auto values = ParsePublished(
      "paper,table,dataset,approach,epsilon,delta,setting,metric,value,note\n"
      "p,t,D,DPDFD,1,1e-5,a,accuracy,0.5,\n"
      "p,t,D,DPDFD,1,1e-5,b,accuracy,0.6,\n");
  EXPECT_EQ(values.size(), 2U);
  EXPECT_FALSE(FindPublished(values, {"D", "dpdfd", 1.0}));
}

TEST(Published, SettingTellsTheBranchesOfDpsdApart) {
  const auto values = ParsePublished(
      "paper,table,dataset,approach,epsilon,delta,setting,metric,value,note\n"
      "p,t,D,DPSD,1,1e-5,data-sensitive,accuracy,0.5,\n"
      "p,t,D,DPSD,1,1e-5,label-sensitive,accuracy,0.6,\n");
  EXPECT_THAT(FindPublished(values, {"D", "dpsd-data", 1.0}), Optional(0.5));
  EXPECT_THAT(FindPublished(values, {"D", "dpsd-label", 1.0}), Optional(0.6));
}

TEST(Published, QuotedFieldsMayHoldCommas) {
  const auto values = ParsePublished(
      "paper,table,dataset,approach,epsilon,delta,setting,metric,value,note\r\n"
      "p,t,D,RONA,7.68,1e-5,\"fraction 0.4 (MNIST, SVHN), \"\"x\"\"\",accuracy,0.9864,\r\n"
      "p,t,D,RONA,,,,parameters,155.21K,\r\n");
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].setting, "fraction 0.4 (MNIST, SVHN), \"x\"");
  EXPECT_THAT(values[0].epsilon, Optional(7.68));
  EXPECT_DOUBLE_EQ(values[0].value, 0.9864);
}

}  // namespace
}  // namespace retort::orchestrator::cli
