// What the program takes the papers to state, beside a table that was read from the texts without it.
#include "experiments/methods/stated_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "experiments/methods/methods.h"
#include "experiments/methods/presets.h"
#include "experiments/methods/settings_lines.h"
#include "experiments/methods/spec_keys.h"
#include "tests/unit/experiments/methods/stated_settings_rows.h"
#include "tests/unit/experiments/methods/stated_settings_table.h"

namespace retort {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Rows that hold wherever a method runs, say a value of a key, and are no form of an equation.
bool IsCompared(const StatedSetting& row) {
  return row.experiment == "*" && row.statement != Statement::form && HasKey(row);
}

// A trial that the row is about.
TrialSpec MakeTrial(const StatedSetting& row, const std::string& method, Reading reading) {
  TrialSpec spec;
  spec.role = Role::student;
  spec.method = method;
  spec.reading = reading;
  if (row.branch == "label") spec.release.branch = Branch::label;
  spec.source = FindMethod(method)->source;
  auto data = std::make_shared<DataSpec>();
  data->name = "set";
  data->classes = 10;
  if (row.data != "*") data->published_as = std::string(row.data);
  spec.data = data;
  ApplyPreset(spec, FindKind(spec));
  spec.privacy.epsilon = row.epsilon_up_to < 1e6 ? row.epsilon_up_to : 0;
  return spec;
}

std::string AsWritten(const TextSetting& setting) {
  if (!setting.words.empty()) return std::string(setting.words);
  if (setting.value.starts_with("= ")) return std::string(setting.value.substr(2));
  return std::string(setting.value);
}

bool IsWritten(const TextSetting& setting, std::string_view value) {
  const std::vector<std::string> parts = ListAlternatives(AsWritten(setting));
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) { return SameValue(part, value); });
}

TEST(StatedSettings, AreThoseThatWereReadFromTheTexts) {
  for (const StatedSetting& row : kStatedSettings) {
    if (!IsCompared(row)) continue;
    const SpecKey* key = FindTrialKey(row.key);
    for (const std::string& method : ListMethods(row)) {
      const TrialSpec spec = MakeTrial(row, method, Reading::stated);
      if (key != nullptr && !key->AppliesTo(FindKind(spec), spec.source)) continue;
      if (IsDecided(row.method, row.key) || IsDecided(method, row.key)) continue;
      const TextSetting* ours = FindStated(spec, CanonicalKey(row));
      ASSERT_NE(ours, nullptr) << method << " " << row.key << " " << row.value << ": " << row.place;
      EXPECT_TRUE(IsWritten(*ours, row.value)) << method << " " << row.key << ": here " << AsWritten(*ours) << " ("
                                               << ours->place << "), text " << row.value << " (" << row.place << ")";
    }
  }
}

TEST(StatedSettings, HaveNoRowThatNoTextStates) {
  // gamma stands for the texts' kappa, and Algorithm 2's replay is that of both branches.
  const std::set<std::string_view> others = {"gamma", "initialisation"};  // without a key there
  for (const TextSetting& setting : ListTextSettings()) {
    if (others.count(setting.key) > 0) continue;
    for (const MethodTraits& method : GetMethods()) {
      if (!HoldsName(setting.methods, method.name)) continue;
      const bool stated = std::any_of(std::begin(kStatedSettings), std::end(kStatedSettings), [&](const auto& row) {
        if (CanonicalKey(row) != setting.key) return false;
        const std::vector<std::string> methods = ListMethods(row);
        return std::find(methods.begin(), methods.end(), method.name) != methods.end();
      });
      TrialSpec spec;
      spec.method = method.name;
      spec.source = method.source;
      spec.reading = Reading::stated;
      if (setting.branch) spec.release.branch = *setting.branch;
      const SpecKey* key = nullptr;
      for (const SpecKey& one : ListSpecKeys())
        if (one.name == setting.key) key = &one;
      const bool of_other = setting.key.starts_with(kOfTeacher) || setting.key.starts_with(kOfData);
      ASSERT_TRUE(key != nullptr || of_other) << setting.key;
      EXPECT_TRUE(stated || (!of_other && !key->AppliesTo(FindKind(spec), spec.source)))
          << method.name << " " << setting.key;
    }
  }
}

// Every setting of the texts is what the preset of `stated` resolves to.
TEST(StatedSettings, ArePresetsOfTheReading) {
  for (const MethodTraits& method : GetMethods()) {
    if ((method.readings & readings::kStated) == 0) continue;
    for (const Branch branch : {Branch::data, Branch::label}) {
      TrialSpec spec;
      spec.method = method.name;
      spec.source = method.source;
      spec.reading = Reading::stated;
      spec.release.branch = branch;
      auto data = std::make_shared<DataSpec>();
      data->name = "MNIST";
      data->classes = 10;
      spec.data = data;
      ApplyPreset(spec, FindKind(spec));
      EXPECT_THAT(ListDifferences(spec), IsEmpty())
          << method.name << ": " << ::testing::PrintToString(DescribeSettings(std::vector<const TrialSpec*>{&spec}));
    }
  }
}

TrialSpec Make(const std::string& method, Reading reading, Branch branch = Branch::data) {
  TrialSpec spec;
  spec.method = method;
  spec.reading = reading;
  spec.release.branch = branch;
  spec.source = FindMethod(method)->source;
  auto data = std::make_shared<DataSpec>();
  data->name = "MNIST";
  data->classes = 10;
  spec.data = data;
  ApplyPreset(spec, FindKind(spec));
  return spec;
}

std::vector<std::string> ListDifferentKeys(const std::vector<Difference>& differences) {
  std::vector<std::string> keys;
  for (const Difference& one : differences) keys.push_back(one.key);
  return keys;
}

TEST(StatedSettings, WorkingSaysWhereItDiffers) {
  const TrialSpec spec = Make("dpdfd", Reading::working);
  EXPECT_THAT(ListDifferentKeys(ListDifferences(spec)),
              ElementsAre("dkd_beta", "information_entropy", "activation_norm", "generator_steps", "student_steps",
                          "student_batch", "replay"));
  const TrialSpec by_gradients = Make("dpsd-data", Reading::working);
  EXPECT_THAT(ListDifferences(by_gradients),
              ::testing::Contains(AllOf(Field(&Difference::key, "gamma"), Field(&Difference::here, "250 to 10"),
                                        Field(&Difference::text, "0.1"))));
}

TEST(StatedSettings, SoundAndTeachersDifferInNothing) {
  EXPECT_THAT(ListDifferences(Make("dpdfd", Reading::sound)), IsEmpty());
  EXPECT_THAT(ListChosen(Make("dpdfd", Reading::working)), IsEmpty());
  TrialSpec teacher;
  teacher.role = Role::teacher;
  teacher.method = "plain";
  EXPECT_THAT(ListDifferences(teacher), IsEmpty());
}

TEST(StatedSettings, RowOfADataSetReplacesTheGeneralOne) {
  TrialSpec spec = Make("dpsd-data", Reading::working);
  spec.network = "resnet34";
  EXPECT_THAT(ListDifferentKeys(ListDifferences(spec)), ::testing::Contains("student"));
  auto data = std::make_shared<DataSpec>();
  data->name = "imagenet";
  data->published_as = "ImageNet";
  spec.data = data;
  EXPECT_THAT(ListDifferentKeys(ListDifferences(spec)), ::testing::Not(::testing::Contains("student")));
  EXPECT_THAT(ListDifferences(spec),
              ::testing::Contains(AllOf(Field(&Difference::key, "top_k"), Field(&Difference::text, "300"))));
}

TEST(StatedSettings, ValueDependsOnTheBudget) {
  TrialSpec spec = Make("dpsd-data", Reading::stated);
  spec.privacy.epsilon = 1;
  EXPECT_THAT(ListDifferences(spec), IsEmpty());
  spec.privacy.epsilon = 10;
  EXPECT_THAT(ListDifferentKeys(ListDifferences(spec)), ElementsAre("norm_bound"));
}

TEST(StatedSettings, StepsThatEpsilonDecidesAreNamed) {
  TrialSpec spec = Make("dpsd-data", Reading::stated);
  spec.privacy.epsilon = 1;
  spec.privacy.calibrate = Calibrate::steps;
  EXPECT_THAT(ListDifferences(spec),
              ElementsAre(AllOf(Field(&Difference::key, "steps"), Field(&Difference::here, "by epsilon"))));
}

TEST(StatedSettings, OneLineDescribesAMethodAndReading) {
  const TrialSpec working = Make("dp-dfd", Reading::working), stated = Make("dp-dfd", Reading::stated);
  const std::vector<std::string> lines = DescribeSettings(std::vector<const TrialSpec*>{&working, &stated, &working});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("working dp-dfd differs from its text (in brackets): "),
                              HasSubstr("information_entropy 20 (5)"),
                              HasSubstr("threshold 0.001 (1 / (2 classes)), section III-A")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("stated dp-dfd is as its text. Not in it: "), HasSubstr("pretrain_steps 300")));
}

// Keys that the reading `printed` sets otherwise are stated, or named as read in another way.
std::vector<std::string> ListUnnamedForms(const TrialSpec& stated, const TrialSpec& printed) {
  std::set<std::string> named;
  for (const Chosen& one : ListChosen(stated)) named.insert(one.key);
  std::vector<std::string> unnamed;
  for (const SpecKey& key : ListSpecKeys()) {
    if (key.name == "reading" || !key.AppliesTo(FindKind(stated), stated.source)) continue;
    if (FormatValue(key, key.get(stated)) == FormatValue(key, key.get(printed))) continue;
    if (!named.contains(std::string(key.TrialName())) && FindStated(stated, key.name) == nullptr)
      unnamed.emplace_back(key.name);
  }
  return unnamed;
}

TEST(StatedSettings, FormsThatAreNotByTheLetterAreNamed) {
  for (const MethodTraits& method : GetMethods()) {
    if ((method.readings & readings::kStated) == 0) continue;
    const std::string name(method.name);
    EXPECT_THAT(ListUnnamedForms(Make(name, Reading::stated), Make(name, Reading::printed)), IsEmpty()) << name;
    if (!method.branches) continue;
    EXPECT_THAT(
        ListUnnamedForms(Make(name, Reading::stated, Branch::label), Make(name, Reading::printed, Branch::label)),
        IsEmpty())
        << name;
  }
}

TEST(StatedSettings, AFormByTheLetterIsNotChosen) {
  TrialSpec spec = Make("dpsd-data", Reading::stated);
  const auto chosen = [&spec] {
    std::vector<std::string> keys;
    for (const Chosen& one : ListChosen(spec)) keys.push_back(one.key);
    return keys;
  };
  EXPECT_THAT(chosen(), ::testing::Contains("project"));
  spec.distill.project = false;
  EXPECT_THAT(chosen(), ::testing::Not(::testing::Contains("project")));
}

TEST(StatedSettings, StudentOfDpDfdIsOneOfTheTexts) {
  TrialSpec spec = Make("dp-dfd", Reading::stated);
  EXPECT_THAT(ListDifferentKeys(ListDifferences(spec)), IsEmpty());
  spec.network = "resnet18-cifar";
  EXPECT_THAT(ListDifferentKeys(ListDifferences(spec)), IsEmpty());
  spec.network = "logistic";
  EXPECT_THAT(ListDifferences(spec),
              ElementsAre(AllOf(Field(&Difference::key, "student"), Field(&Difference::text, "datalens | resnet18"))));
}

// Of a delta that the texts state with single experiments alone, and of one that they state for all.
TEST(StatedSettings, DeltaIsOpenWhereNoTextStatesItForAll) {
  const std::map<Paper, std::string_view> papers = {
      {Paper::dpdfd, kDpdfd}, {Paper::dp_dfd, kDpDfd}, {Paper::dpsd, kDpsd}, {Paper::rona, kRona}};
  const auto states = [&](Paper paper, bool for_all) {
    return std::any_of(std::begin(kStatedSettings), std::end(kStatedSettings), [&](const StatedSetting& row) {
      return row.paper == papers.at(paper) && row.key == "delta" && (row.experiment == "*") == for_all;
    });
  };
  for (const MethodTraits& method : GetMethods()) {
    if (method.paper == Paper::none) continue;
    const bool open = states(method.paper, false) && !states(method.paper, true);
    EXPECT_EQ(!FindDeltaPlaces(Make(std::string(method.name), Reading::working)).empty(), open) << method.name;
  }
  TrialSpec figure = Make("dpdfd", Reading::working);
  figure.privacy.epsilon = 0.6;
  EXPECT_EQ(FindDeltaPlaces(figure), "") << "Figure 2 states it";
  EXPECT_EQ(FindDeltaPlaces(Make("dpdfd", Reading::sound)), "") << "no text has this reading";
}

TrialSpec MakeTeacher() {
  TrialSpec teacher;
  teacher.role = Role::teacher;
  teacher.method = "ensemble";
  teacher.network = "dense-mnist";
  teacher.members = 20;
  teacher.epochs = 60;
  return teacher;
}

TEST(StatedSettings, TeachersAreComparedWithTheirStudents) {
  const TrialSpec student = Make("feddpsd", Reading::stated), teacher = MakeTeacher();
  EXPECT_THAT(ListDifferences(student), IsEmpty());
  const std::vector<Difference> differences = ListDifferences(student, &teacher);
  EXPECT_THAT(differences, ::testing::Contains(AllOf(Field(&Difference::key, "teacher.members"),
                                                     Field(&Difference::here, "20"), Field(&Difference::text, "5"))));
  EXPECT_THAT(ListDifferentKeys(differences),
              ::testing::IsSupersetOf({"teacher.epochs", "teacher.lr", "teacher.optimizer"}));
}

TEST(StatedSettings, OneOfSeveralStatedNetworksFits) {
  TrialSpec student = Make("dpsd-data", Reading::working), teacher;
  teacher.role = Role::teacher;
  teacher.method = "loaded";
  teacher.network = "vit_b_16";
  EXPECT_THAT(ListDifferentKeys(ListDifferences(student, &teacher)), ::testing::Contains("teacher.network"));
  auto data = std::make_shared<DataSpec>();
  data->published_as = "ImageNet";
  student.data = data;
  EXPECT_THAT(ListDifferentKeys(ListDifferences(student, &teacher)),
              ::testing::Not(::testing::Contains("teacher.network")));
}

TEST(StatedSettings, DataSetsAreCompared) {
  TrialSpec spec = Make("rona", Reading::stated);
  auto data = std::make_shared<DataSpec>();
  data->published_as = "CIFAR10";
  data->split.public_range = {0, 20000};
  data->split.train = {20000, 50000};
  spec.data = data;
  EXPECT_THAT(ListDifferences(spec),
              ElementsAre(AllOf(Field(&Difference::key, "data.split.public"), Field(&Difference::here, "0.4"),
                                Field(&Difference::text, "0.8"))));
}

}  // namespace
}  // namespace retort
