#include "orchestrator/results/tables/published.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace retort::orchestrator::cli {
namespace {

PublishedValue MakePublished(const std::string& approach, const std::string& setting,
                             const std::string& dataset = "MNIST") {
  PublishedValue value;
  value.approach = approach;
  value.setting = setting;
  value.dataset = dataset;
  value.metric = "accuracy";
  return value;
}

// "sigma = 20", "one_hot on", "activation != tanh"; "absent" without a condition on the key.
std::string ConditionOn(const PublishedScope& scope, const std::string& key) {
  for (const TrialCondition& condition : scope.conditions) {
    if (std::find(condition.keys.begin(), condition.keys.end(), key) == condition.keys.end()) continue;
    std::string text = condition.keys.front();
    for (std::size_t i = 1; i < condition.keys.size(); ++i) text += "/" + condition.keys[i];
    if (condition.relation == Relation::on) return text + " on";
    if (condition.relation == Relation::off) return text + " off";
    text += condition.relation == Relation::is ? " = " : " != ";
    for (std::size_t i = 0; i < condition.values.size(); ++i) text += (i == 0 ? "" : "|") + condition.values[i];
    return text;
  }
  return "absent";
}

TEST(PublishedRules, EveryPublishedSettingIsClassified) {
  std::set<std::string> joins_nothing;
  const std::set<std::string> native = {"Teacher",   "DPDFD",   "DP-DFD", "DPSD",  "DPSD-T", "FedDPSD",
                                        "FedAVG",    "DENSE",   "RONA",   "DPSGD", "TSADP",  "GM-DP",
                                        "PATE-2018", "DP-MERF", "LP-2ST", "ALIBI", "RONA-S1"};
  for (const PublishedValue& value : ReadAllPublished())
    if (native.contains(value.approach) && !FindScope(value).joins)
      joins_nothing.insert(value.metric + ": " + value.setting);
  EXPECT_THAT(joins_nothing,
              ::testing::ElementsAre("minutes: ResNet34 to three-layer CNN, 20 iterations, three RTX 3090",
                                     "seconds: 100 images, ARM Cortex-A53 phone"));
}

TEST(PublishedRules, ApproachesThatAreNotBuiltHereJoinNothing) {
  for (const char* approach : {"DP-GAN", "PATE-2017", "PATE-GAN", "Base", "direct CNN", "TOPAGG", "DGD"})
    EXPECT_FALSE(FindScope(MakePublished(approach, "")).joins) << approach;
}

TEST(PublishedRules, UnknownWordsOfASettingJoinNothing) {
  EXPECT_FALSE(FindScope(MakePublished("DPDFD", "on Sundays")).joins);
  EXPECT_FALSE(FindScope(MakePublished("DPDFD", "generator_loss=CE+XY")).joins);
  EXPECT_FALSE(FindScope(MakePublished("DPDFD", "teacher=LeNet")).joins);
  EXPECT_FALSE(FindScope(MakePublished("DPSD", "data-sensitively")).joins);
  EXPECT_FALSE(FindScope(MakePublished("DPDFD", "sigma=")).joins);
}

TEST(PublishedRules, BranchesOfDpsdAreMethods) {
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPSD", "data-sensitive")), "method"), "method = dpsd-data");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPSD", "label-sensitive")), "method"), "method = dpsd-label");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPSD", "teacher=ShuffleNet", "ImageNet")), "method"),
            "method = dpsd-data");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPDFD", "data-sensitive")), "method"), "method = dpdfd");
}

TEST(PublishedRules, DirectTrainingBelongsToDpdfdAlone) {
  const std::string direct = "direct training on private data";
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPDFD", direct)), "method"), "method = dpdfd-direct");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPSGD", direct)), "method"), "method = dpsgd");
}

TEST(PublishedRules, TermsOfTheGeneratorLossAreOnOrOff) {
  const PublishedScope scope = FindScope(MakePublished("DPSD", "data-sensitive generator_loss=IE+Norm"));
  EXPECT_EQ(ConditionOn(scope, "one_hot"), "one_hot off");
  EXPECT_EQ(ConditionOn(scope, "information_entropy"), "information_entropy on");
  EXPECT_EQ(ConditionOn(scope, "bn_statistics"), "activation_norm/bn_statistics on");
  EXPECT_EQ(ConditionOn(scope, "method"), "method = dpsd-data");
}

TEST(PublishedRules, KeysOfASettingAreKeysOfTheTrial) {
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPDFD", "sigma=20")), "sigma"), "sigma = 20");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPSD", "n=10; samples=50000")), "samples"), "samples = 50000");
}

TEST(PublishedRules, TeachersAreKnownByTheirNetwork) {
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPDFD", "teacher=GoogleNet", "ImageNet")), "teacher.network"),
            "teacher.network = googlenet|googlenet-transform-input|torchscript:GoogleNet");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("Teacher", "teacher=ViT", "ImageNet")), "role"), "role = teacher");
}

TEST(PublishedRules, PublicFractionOfSeveralDataSetsIsThatOfTheValues) {
  const std::string both = "public fraction 0.4 (MNIST, SVHN), 0.8 (CIFAR10)";
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("RONA", both, "SVHN")), "public_fraction"), "public_fraction = 0.4");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("RONA", both, "CIFAR10")), "public_fraction"), "public_fraction = 0.8");
}

TEST(PublishedRules, UnseenClassesAreAnotherMetric) {
  const PublishedScope overall = FindScope(MakePublished("RONA", "digits 6 and 9 sensitive; overall"));
  const PublishedScope unseen = FindScope(MakePublished("RONA", "digits 6 and 9 sensitive; unseen classes 6 and 9"));
  EXPECT_EQ(ConditionOn(overall, "metric"), "metric = test.accuracy");
  EXPECT_EQ(ConditionOn(unseen, "metric"), "metric = test.sensitive_accuracy");
  EXPECT_EQ(ConditionOn(unseen, "data.sensitive_classes"), "data.sensitive_classes = 6,9");
}

// RONA names its small students S1 and S2; which networks they are follows from their numbers of parameters, where one
// fits.
TEST(PublishedRules, StudentsOfRonaAreNetworksOfTheirDataSet) {
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("RONA-S1", "", "CIFAR10")), "student"), "student = conv-small");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("RONA-S2", "", "CIFAR10")), "student"), "student = conv-small-s2");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("RONA-S1", "", "MNIST")), "student"), "student = conv-small-mnist");
  EXPECT_FALSE(FindScope(MakePublished("RONA-S2", "", "MNIST")).joins);
}

TEST(PublishedRules, SwitchesOfDpSgdTellItsVariantsApart) {
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("TSADP", "")), "activation"), "activation = tanh");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("DPSGD", "")), "activation"), "activation != tanh");
  EXPECT_EQ(ConditionOn(FindScope(MakePublished("GM-DP", "")), "clipping"), "clipping = per-layer");
}

TEST(PublishedRules, DataSetsHaveSeveralNames) {
  for (const char* name : {"FMNIST", "FashionMNIST", "Fashion-MNIST", "fashion_mnist"})
    EXPECT_TRUE(IsSameDataSet(name, "FMNIST")) << name;
  EXPECT_TRUE(IsSameDataSet("CIFAR-10", "CIFAR10"));
  EXPECT_TRUE(IsSameDataSet("cifar100", "CIFAR-100"));
  EXPECT_TRUE(IsSameDataSet("ILSVRC2012", "ImageNet"));
  EXPECT_TRUE(IsSameDataSet("CelebA gender", "CelebA-G"));
  EXPECT_FALSE(IsSameDataSet("CIFAR-10", "CIFAR-100"));
  EXPECT_FALSE(IsSameDataSet("Tiny-ImageNet", "ImageNet"));
  EXPECT_FALSE(IsSameDataSet("MNIST", "FMNIST"));
  EXPECT_TRUE(IsSameApproach("lp2st", "LP-2ST"));
  EXPECT_FALSE(IsSameApproach("PATE-2017", "PATE-2018"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
