#include "orchestrator/results/tables/published_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

// A plan of one data set, whose trials a test adds; and a table over it.
struct World {
  explicit World(const std::string& published_as) : data(testing::SampleData()) {
    data->published_as = published_as;
    plan.data = {data};
    table.name = "t";
    table.rows = {"method"};
  }

  // `axes`: keys of the trial, whether or not this version has them.
  TrialSpec Student(const std::string& method, double epsilon,
                    std::vector<std::pair<std::string, std::string>> axes = {}) const {
    TrialSpec spec;
    spec.method = method;
    spec.privacy.epsilon = epsilon;
    spec.data = data;
    spec.axes = std::move(axes);
    return spec;
  }

  TrialSpec Teacher(const std::string& name, const std::string& network) {
    TrialSpec spec = testing::SampleTeacher(data);
    spec.teacher = name;
    spec.network = network;
    spec.id = TrialId(0x100 + plan.trials.size());
    plan.trials.push_back(spec);
    return spec;
  }

  std::optional<double> Join(const std::vector<PublishedValue>& values, const TrialSpec& spec,
                             const std::vector<privacy::Claim>& claims = {}) {
    PublishedJoiner joiner(plan, table, values);
    const orchestrator::Join join = joiner.For(spec, claims);
    warnings = joiner.warnings();
    return join.value != nullptr ? std::optional(join.value->value) : std::nullopt;
  }
  std::optional<double> Join(const std::string& published, const TrialSpec& spec,
                             const std::vector<privacy::Claim>& claims = {}) {
    const std::vector<PublishedValue> values = FindPublishedTable(published);
    EXPECT_FALSE(values.empty()) << published;
    return Join(values, spec, claims);
  }

  std::shared_ptr<DataSpec> data;
  SweepPlan plan;
  TableSpec table;
  std::vector<std::string> warnings;
};

TEST(PublishedJoin, IsByDataSetMethodAndNumericEpsilon) {
  World world("MNIST");
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table1", world.Student("dpdfd", 1)), Optional(0.9512));
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table1", world.Student("dpdfd", 10)), Optional(0.9751));
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", world.Student("dpdfd", 1.5)));
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", world.Student("dp-dfd", 1)));
  EXPECT_THAT(World("CIFAR-10").Join("dpdfd-ijcai23/table2", World("CIFAR-10").Student("dpsgd", 2)), Optional(0.6623));
  EXPECT_THAT(World("Fashion-MNIST").Join("dpdfd-ijcai23/table1", World("Fashion-MNIST").Student("dpdfd", 1)),
              Optional(0.8386));
  EXPECT_FALSE(World("mnist10k").Join("dpdfd-ijcai23/table1", World("mnist10k").Student("dpdfd", 1)));
  EXPECT_THAT(world.warnings, IsEmpty());
}

TEST(PublishedJoin, WithoutEpsilonAskedForTheFormulaDecides) {
  World world("CIFAR10");
  const auto values = ParsePublished(testing::kPublishedHeader + "p,t,CIFAR10,DPDFD,9.59,1e-5,,accuracy,0.8,\n");
  EXPECT_THAT(world.Join(values, world.Student("dpdfd", 0), {testing::FormulaClaim(9.597)}), Optional(0.8));
  EXPECT_FALSE(world.Join(values, world.Student("dpdfd", 0), {testing::FormulaClaim(9.7)}));
  EXPECT_FALSE(world.Join(values, world.Student("dpdfd", 0),
                          {testing::ProvenClaim(privacy::Adjacency::example, privacy::Neighbour::replace, 9.59)}));
}

TEST(PublishedJoin, BeforeARunThePlannedFormulaDecides) {
  World world("CIFAR10");
  TrialSpec spec = world.Student("dpdfd", 0);
  spec.parent = TrialId(1);
  // Theorem 3 at C = 1e-3, sigma = 100, 256 rows a step, 160 steps is 0.046 in `retort epsilon paper`.
  const auto values = ParsePublished(testing::kPublishedHeader + "p,t,CIFAR10,DPDFD,7,1e-5,,accuracy,0.8,\n");
  EXPECT_FALSE(world.Join(values, spec));
  const auto any = ParsePublished(testing::kPublishedHeader + "p,t,CIFAR10,DPDFD,,1e-5,,accuracy,0.8,\n");
  EXPECT_THAT(world.Join(any, spec), Optional(0.8));
}

TEST(PublishedJoin, AValueWithoutEpsilonJoinsAtAny) {
  World world("MNIST");
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table5", world.Student("dpdfd", 0, {{"sigma", "50"}})), Optional(0.8314));
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table5", world.Student("dpdfd", 3, {{"sigma", "5e1"}})), Optional(0.8314));
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table5", world.Student("dpdfd", 0, {{"sigma", "60"}})));
}

TEST(PublishedJoin, BranchesAndVariantsOfDpsdAreToldApart) {
  World world("MNIST");
  EXPECT_THAT(world.Join("dpsd/table1", world.Student("dpsd-data", 1)), Optional(0.9603));
  EXPECT_FALSE(world.Join("dpsd/table1", world.Student("dpsd-label", 1)));
  EXPECT_THAT(world.Join("dpsd/table4", world.Student("dpsd-label", 1)), Optional(0.9762));
  EXPECT_FALSE(world.Join("dpsd/table4", world.Student("dpsd-data", 1)));
  EXPECT_THAT(world.Join("dpsd/sec-F3", world.Student("dpsd-t", 10)), Optional(0.9793));
  EXPECT_THAT(world.Join("dpsd/sec-F3", world.Student("dpsd-data", 10, {{"discriminator", "student"}})),
              Optional(0.9585));
  EXPECT_FALSE(world.Join("dpsd/sec-F3", world.Student("dpsd-data", 10, {{"discriminator", "teacher"}})));
  EXPECT_FALSE(world.Join("dpsd/sec-F3", world.Student("dpsd-kd", 10, {{"discriminator", "student"}})));
}

TEST(PublishedJoin, LossTermsDecideByTheirWeights) {
  World world("MNIST");
  const auto student = [&](const char* one_hot, const char* entropy, const char* norm) {
    return world.Student("dpsd-data", 10,
                         {{"one_hot", one_hot}, {"information_entropy", entropy}, {"activation_norm", norm}});
  };
  EXPECT_THAT(world.Join("dpsd/table6", student("1", "5", "0.1")), Optional(0.9785));
  EXPECT_THAT(world.Join("dpsd/table6", student("0", "5", "0.1")), Optional(0.9602));
  EXPECT_THAT(world.Join("dpsd/table6", student("1", "0", "0.1")), Optional(0.6637));
  EXPECT_THAT(world.Join("dpsd/table6", student("1", "5", "0")), Optional(0.8639));
  EXPECT_FALSE(world.Join("dpsd/table6", student("0", "0", "0.1")));
}

TEST(PublishedJoin, TeachersAreJoinedByTheirNetworkWhateverTheirName) {
  World world("ImageNet");
  TrialSpec spec = world.Student("dpdfd", 1);
  spec.parent = world.Teacher("mine", "shufflenet_v2_x1_0").id;
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table3", spec), Optional(0.4964));
  EXPECT_THAT(world.Join("dpsd/fig4", world.Student("dpsd-data", 1)), std::nullopt) << "no teacher";
  spec.parent = world.Teacher("ShuffleNet", "resnet18-cifar").id;
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table3", spec));
  spec.parent = world.Teacher("ViT", kTorchScript).id;
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table3", spec), Optional(0.3142));
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table3", world.Teacher("a", "alexnet")), Optional(0.5655));
}

TEST(PublishedJoin, OnlyATeacherTrainedPlainlyIsThePapersTeacher) {
  World world("MNIST");
  TrialSpec teacher = world.Teacher("single", "datalens");
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table1", teacher), Optional(0.9921));
  teacher.method = "loaded";
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table1", teacher), Optional(0.9921)) << "from a file";
  teacher.method = "dpsgd";
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", teacher));
  teacher.method = "ensemble";
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", teacher));
}

TEST(PublishedJoin, PublicFractionIsThatOfTheSplit) {
  World world("MNIST");
  world.data->split.public_range = {0, 4000};
  world.data->split.train = {4000, 10000};
  EXPECT_THAT(world.Join("rona-aaai19/text-privacy", world.Student("rona", 7.68)), Optional(0.9864));
  EXPECT_FALSE(world.Join("rona-aaai19/table2", world.Student("rona", 9.6, {{"student", "conv-small-mnist"}})));
  world.data->split.public_range = {0, 8000};
  world.data->split.train = {8000, 10000};
  EXPECT_FALSE(world.Join("rona-aaai19/text-privacy", world.Student("rona", 7.68)));
  EXPECT_THAT(world.Join("rona-aaai19/table2", world.Student("rona", 9.6, {{"student", "conv-small-mnist"}})),
              Optional(0.9894));
}

TEST(PublishedJoin, ClientsAreKeysOfTheTrialOrOfItsTeacher) {
  World world("MNIST");
  const std::vector<std::pair<std::string, std::string>> clients = {{"clients", "5"}, {"dirichlet_alpha", "0.5"}};
  EXPECT_THAT(world.Join("dpsd/table5", world.Student("fedavg", 0, clients)), Optional(0.9055));
  EXPECT_FALSE(world.Join("dpsd/table5", world.Student("fedavg", 0, {{"clients", "10"}, {"dirichlet_alpha", "0.5"}})));
  EXPECT_FALSE(world.Join("dpsd/table5", world.Student("fedavg", 0, {{"clients", "5"}, {"dirichlet_alpha", "0.1"}})));
  TrialSpec student = world.Student("feddpsd", 10, {{"branch", "data"}});
  TrialSpec teacher = world.Teacher("clients", "dense-mnist");
  TrialSpec& stored = world.plan.trials.back();
  stored.method = "ensemble";
  stored.members = 5;
  stored.shards.partition = Partition::dirichlet;
  student.parent = teacher.id;
  EXPECT_THAT(world.Join("dpsd/table5", student), Optional(0.9576));
  stored.shards.partition = Partition::shards;
  EXPECT_FALSE(world.Join("dpsd/table5", student));
  stored.shards.partition = Partition::dirichlet;
  student.axes = {{"branch", "label"}};
  EXPECT_FALSE(world.Join("dpsd/table5", student));
}

TEST(PublishedJoin, SensitiveClassesAreThoseOfTheDataSet) {
  World world("MNIST");
  world.data->sensitive_classes = {6, 9};
  EXPECT_THAT(world.Join("rona-aaai19/table1", world.Student("rona", 8.7)), Optional(0.8848));
  world.table.metric = "test.sensitive_accuracy";
  EXPECT_THAT(world.Join("rona-aaai19/table1", world.Student("rona", 8.7)), Optional(0.4675));
  world.data->sensitive_classes = {6};
  EXPECT_FALSE(world.Join("rona-aaai19/table1", world.Student("rona", 8.7)));
}

TEST(PublishedJoin, EpsilonOfOneResponseIsThePapers) {
  World world("MNIST");
  TrialSpec spec = world.Student("dp-dfd", 0);
  spec.release.epsilon0 = 10;
  EXPECT_THAT(world.Join("dp-dfd/table1", spec), Optional(0.9856));
  spec.release.epsilon0 = 9;
  EXPECT_FALSE(world.Join("dp-dfd/table1", spec));
}

TEST(PublishedJoin, MetricIsThatOfTheTable) {
  World world("MNIST");
  world.table.metric = "test.top5";
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", world.Student("dpdfd", 1)));
  world.table.metric = "accuracy";
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", world.Student("dpdfd", 1)));
}

TEST(PublishedJoin, DifferingValuesUnderOneKeyJoinNothingAndAreNamed) {
  World world("D");
  const auto values = ParsePublished(testing::kPublishedHeader +
                                     "p,t,D,DPDFD,1,1e-5,data-sensitive,accuracy,0.5,\n"
                                     "p,t,D,DPDFD,1,1e-5,label DP,accuracy,0.6,\n");
  EXPECT_FALSE(world.Join(values, world.Student("dpdfd", 1)));
  EXPECT_THAT(world.warnings, ElementsAre(AllOf(HasSubstr("DPDFD, data-sensitive, D, ε = 1 in p/t"),
                                                HasSubstr("DPDFD, label DP"), HasSubstr("[table.t]"))));
}

TEST(PublishedJoin, EqualValuesUnderOneKeyAreOne) {
  World world("D");
  const auto values = ParsePublished(testing::kPublishedHeader +
                                     "p,t,D,DPDFD,1,1e-5,data-sensitive,accuracy,0.5,\n"
                                     "p,t,D,DPDFD,1.0,1e-5,label DP,accuracy,0.5,\n");
  EXPECT_THAT(world.Join(values, world.Student("dpdfd", 1)), Optional(0.5));
  EXPECT_THAT(world.warnings, IsEmpty());
}

TEST(PublishedJoin, ATableMaySayWhatJoins) {
  World world("MNIST");
  world.table.joins = {{{{"sigma", {"100"}}}, {{"approach", "DPDFD"}, {"epsilon", "10"}}},
                       {{{"sigma", {"50"}}}, {}},
                       {{{"sigma", {"20"}}}, {{"approach", "dpdfd"}}}};
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table1", world.Student("rona", 0, {{"sigma", "100"}})), Optional(0.9751));
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", world.Student("dpdfd", 1, {{"sigma", "50"}}))) << "said to be none";
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", world.Student("dpdfd", 1, {{"sigma", "20"}}))) << "two epsilons";
  EXPECT_EQ(world.warnings.size(), 1U);
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table1", world.Student("dpdfd", 1, {{"sigma", "30"}})), Optional(0.9512));
  world.table.joins = {{{{"sigma", {"100"}}}, {{"approach", "DPDFD"}, {"epsilon", "10"}, {"dataset", "FMNIST"}}}};
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table1", world.Student("rona", 0, {{"sigma", "100"}})), Optional(0.8988));
}

// What a proven epsilon or other noise is compared with is not the formula's.
TEST(PublishedJoin, AFormulasEpsilonJoinsNoTrialThatMeansAnother) {
  World world("MNIST");
  TrialSpec spec = world.Student("dpdfd", 1);
  spec.privacy.claim = ClaimTarget::paper;
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table1", spec), Optional(0.9512));
  for (const ClaimTarget claim : {ClaimTarget::example, ClaimTarget::teacher, ClaimTarget::member}) {
    spec.privacy.claim = claim;
    EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", spec)) << static_cast<int>(claim);
  }
  spec.privacy.claim = ClaimTarget::paper;
  spec.reading = Reading::sound;
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table1", spec)) << "the sound reading draws no such noise";
  spec = world.Student("dp-dfd", 0);
  spec.reading = Reading::sound;
  spec.release.epsilon0 = 10;
  EXPECT_FALSE(world.Join("dp-dfd/table1", spec));
  spec = world.Student("dpdfd", 3, {{"sigma", "50"}});
  spec.reading = Reading::sound;
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table5", spec), Optional(0.8314)) << "a value without epsilon";
}

// At another delta the same epsilon means another thing.
TEST(PublishedJoin, AnEpsilonAtAnotherDeltaJoinsNothing) {
  World world("MNIST");
  TrialSpec spec = world.Student("dpdfd", 1);
  for (const auto& [delta, joins] : {std::pair{1e-5, true}, {1e-4, false}, {1e-6, false}}) {
    spec.privacy.delta = delta;
    EXPECT_EQ(world.Join("dpdfd-ijcai23/table1", spec).has_value(), joins) << delta;
  }
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table2", spec), Optional(0.9512)) << "its text states none";
  spec = world.Student("dp-dfd", 1);
  spec.privacy.delta = 1e-4;
  EXPECT_THAT(world.Join("dp-dfd/table2", spec), Optional(0.9762)) << "a label's epsilon has none";
}

TEST(PublishedJoin, BaselinesJoinUnderWhatTheyProtect) {
  World world("CIFAR10");
  TrialSpec spec = world.Student("dpsgd", 2);
  spec.privacy.claim = ClaimTarget::example;
  EXPECT_THAT(world.Join("dpdfd-ijcai23/table2", spec), Optional(0.6623));
  spec.privacy.claim = ClaimTarget::label;
  EXPECT_FALSE(world.Join("dpdfd-ijcai23/table2", spec));
  spec = world.Student("lp-2st", 1);
  spec.privacy.claim = ClaimTarget::label;
  EXPECT_THAT(world.Join("dp-dfd/table2", spec), Optional(0.6367));
  spec.privacy.claim = ClaimTarget::example;
  EXPECT_FALSE(world.Join("dp-dfd/table2", spec));
}

TEST(PublishedJoin, ARuleWithoutARoleJoinsNoStudentToATeacher) {
  World world("MNIST");
  world.data->split.public_range = {0, 8000};
  world.data->split.train = {8000, 10000};
  world.table.joins = {{{{"student", {"conv-small"}}},
                        {{"approach", "RONA-S1"}, {"metric", "accuracy"}, {"setting", "public fraction 0.8"}}}};
  const TrialSpec teacher = world.Teacher("of-mnist", "conv-small");
  EXPECT_THAT(world.Join("rona-aaai19/table2", teacher), Optional(0.9948)) << "the paper's teacher";
  EXPECT_THAT(world.Join("rona-aaai19/table2", world.Student("rona", 9.6, {{"student", "conv-small"}})),
              Optional(0.9894));
  const std::vector<PublishedValue> values = FindPublishedTable("rona-aaai19/table2");
  PublishedJoiner joiner(world.plan, world.table, values);
  static_cast<void>(joiner.For(teacher, {}));
  joiner.AddIdleRuleWarnings();
  EXPECT_THAT(joiner.warnings(), ElementsAre(HasSubstr("matches no trial"))) << "the rule is not about the teacher";
  world.table.joins[0].conditions.push_back({"role", {"teacher"}});
  EXPECT_THAT(world.Join("rona-aaai19/table2", teacher), Optional(0.9894)) << "said with its role";
  world.table.joins = {{{{"student", {"conv-small"}}}, {}}};
  EXPECT_FALSE(world.Join("rona-aaai19/table2", teacher)) << "said to be none";
}

TEST(PublishedJoin, RulesThatMatchNothingAreNamed) {
  World world("MNIST");
  world.table.joins = {{{{"sigma", {"7"}}}, {}}};
  const std::vector<PublishedValue> values = FindPublishedTable("dpdfd-ijcai23/table1");
  PublishedJoiner joiner(world.plan, world.table, values);
  static_cast<void>(joiner.For(world.Student("dpdfd", 1), {}));
  joiner.AddIdleRuleWarnings();
  EXPECT_THAT(joiner.warnings(), ElementsAre(HasSubstr("rule 1 in `joins` of [table.t] matches no trial")));
}

TEST(PublishedJoin, OneValueBesideRowsThatDifferInMoreStandsBesideNone) {
  World world("MNIST");
  const TrialSpec a = world.Student("dpdfd", 1, {{"sigma", "50"}}), b = world.Student("dpdfd", 1, {{"sigma", "100"}});
  TrialSpec printed = world.Student("dpdfd", 1, {{"sigma", "100"}});
  printed.reading = Reading::printed;
  const std::vector<PublishedValue> values = FindPublishedTable("dpdfd-ijcai23/table1");
  PublishedJoiner joiner(world.plan, world.table, values);
  std::vector<Join> joins = {joiner.For(a, {}), joiner.For(b, {}), joiner.For(printed, {})};
  joiner.SettleShared({&a, &b, &printed}, joins);
  EXPECT_EQ(joins[0].value, nullptr);
  EXPECT_EQ(joins[1].value, nullptr);
  EXPECT_NE(joins[2].value, nullptr) << "a reading of its own";
  EXPECT_THAT(joiner.warnings(), ElementsAre(HasSubstr("fits 2 rows that differ in sigma")));
}

TEST(PublishedJoin, ATableMayPutOneValueBesideSeveralRows) {
  World world("MNIST");
  world.table.joins = {{{{"method", {"dpdfd"}}}, {{"approach", "DPDFD"}, {"epsilon", "1"}}}};
  const TrialSpec a = world.Student("dpdfd", 1, {{"sigma", "50"}}), b = world.Student("dpdfd", 1, {{"sigma", "100"}});
  const std::vector<PublishedValue> values = FindPublishedTable("dpdfd-ijcai23/table1");
  PublishedJoiner joiner(world.plan, world.table, values);
  std::vector<Join> joins = {joiner.For(a, {}), joiner.For(b, {})};
  joiner.SettleShared({&a, &b}, joins);
  EXPECT_NE(joins[0].value, nullptr);
  EXPECT_NE(joins[1].value, nullptr);
}

}  // namespace
}  // namespace retort::orchestrator::cli
