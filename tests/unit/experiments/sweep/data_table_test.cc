// [data.NAME]: readers, what goes with them, and the kinds of splits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/methods/data_spec.h"
#include "experiments/methods/spec_codec.h"
#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr char kPlain[] = "split = { train = [0, 8000], test = [9000, 10000] }\n";

// The table's own lines begin in line 3.
PlanOutcome PlanData(const std::string& table) {
  return PlanText("retort = 1\n[data.d]\n" + table + "[teacher]\nsingle = { network = \"logistic\" }\n" +
                  "[trial]\nteacher = \"single\"\n");
}

DataSpec GoodData(const std::string& table) {
  const PlanOutcome outcome = PlanData(table);
  for (const Diagnostic& error : outcome.errors) ADD_FAILURE() << Render(error);
  return outcome.plan ? *outcome.plan->data.at(0) : DataSpec();
}

struct Complaint {
  int line, column;
  std::string message;
};

// Of tables with one mistake.
Complaint OnlyError(const std::string& table) {
  const PlanOutcome outcome = PlanData(table);
  EXPECT_EQ(outcome.errors.size(), 1U) << table;
  for (std::size_t i = 1; i < outcome.errors.size(); ++i) ADD_FAILURE() << Render(outcome.errors[i]);
  if (outcome.errors.empty()) return {};
  return {outcome.errors[0].line, outcome.errors[0].column, outcome.errors[0].message};
}

std::string Table(const std::string& reader, const std::string& split) {
  return "reader = \"" + reader + "\"\npath = \"p\"\n" + split;
}

TEST(DataTable, ReadersBringTheirDefaults) {
  EXPECT_EQ(GoodData(Table("idx", kPlain)).classes, 10);
  EXPECT_EQ(GoodData(Table("idx", kPlain)).target, "");
  EXPECT_EQ(GoodData(Table("cifar100", kPlain)).target, "fine");
  EXPECT_EQ(GoodData(Table("celeba", kPlain + std::string("target = \"hair\"\n"))).target, "hair");
  EXPECT_EQ(GoodData(Table("covidx", kPlain)).version, "9B");
  EXPECT_EQ(GoodData(Table("covidx", kPlain + std::string("version = \"5\"\n"))).version, "5");
}

TEST(DataTable, WrongNamesSayWhichAreRight) {
  EXPECT_THAT(OnlyError(Table("cifar-10", kPlain)).message, HasSubstr("did you mean \"cifar10\""));
  EXPECT_THAT(OnlyError(Table("celeba", kPlain + std::string("target = \"hairs\"\n"))).message,
              HasSubstr("did you mean \"hair\""));
  const Complaint none = OnlyError(Table("svhn", kPlain + std::string("target = \"digit\"\n")));
  EXPECT_THAT(none.message, HasSubstr("the reader \"svhn\" has no target; leave it out"));
  EXPECT_EQ(none.line, 6);
}

TEST(DataTable, NormalisationIsTheReadersUnlessWritten) {
  const DataSpec cifar = GoodData(Table("cifar10", kPlain));
  EXPECT_EQ(FindPixelScale(cifar).mean, (std::vector<double>{0.4914, 0.4822, 0.4465}));
  const DataSpec own = GoodData(Table("cifar10", kPlain + std::string("mean = [0.5]\nstd = [0.25]\n")));
  EXPECT_EQ(FindPixelScale(own).std, (std::vector<double>{0.25, 0.25, 0.25}));
  EXPECT_EQ(FindPixelScale(GoodData(Table("idx", kPlain))).mean, std::vector<double>{0.1307});
  EXPECT_THAT(OnlyError(Table("idx", kPlain + std::string("mean = [0.5]\n"))).message, HasSubstr("go together"));
  EXPECT_THAT(OnlyError(Table("idx", kPlain + std::string("mean = [0.5, 0.5]\nstd = [1, 1]\n"))).message,
              HasSubstr("holds 2 values; write one, or one for each of 3 channels"));
  EXPECT_THAT(OnlyError(Table("idx", kPlain + std::string("mean = [0.5]\nstd = [1, 1, 1]\n"))).message,
              HasSubstr("std holds 3 values, and mean 1"));
}

TEST(DataTable, SplitsAreByRangesFractionsPartsOrLists) {
  const DataSpec fractions = GoodData(Table("cifar10", "split = { train = 0.8, test = 0.2 }\n"));
  EXPECT_EQ(fractions.split.train_source.fraction, 0.8);
  const DataSpec parts =
      GoodData(Table("cifar10", "split = { train = \"train\", public = \"test[0:2000]\", test = \"test[2000:]\" }\n"));
  EXPECT_EQ(parts.split.train_source.part, "train");
  EXPECT_TRUE(parts.split.train_source.open_end);
  EXPECT_EQ(parts.split.public_range, (IndexRange{0, 2000}));
  EXPECT_FALSE(parts.split.public_source.open_end);
  EXPECT_EQ(parts.split.test.begin, 2000);
  EXPECT_TRUE(parts.split.test_source.open_end);
  const DataSpec lists = GoodData(Table("pictures", "split = { train = \"lists/train.txt\", test = \"test\" }\n"));
  EXPECT_THAT(lists.split.train_source.list, EndsWith("/sweeps/lists/train.txt"));
}

TEST(DataTable, SplitsThatCannotBeAreComplainedAboutWhereTheyStand) {
  const auto problem = [](const std::string& split) { return OnlyError(Table("cifar10", "split = " + split + "\n")); };
  const Complaint overlap = problem("{ train = \"train\", public = \"test[0:100]\", test = \"test[50:]\" }");
  EXPECT_THAT(overlap.message, HasSubstr("data.d.split.test = \"test[50:]\" overlaps public = \"test[0:100]\""));
  EXPECT_EQ(overlap.line, 5);
  EXPECT_EQ(overlap.column, 59);
  EXPECT_THAT(problem("{ train = 0.8, test = [0, 100] }").message,
              HasSubstr("data.d.split.test = [0, 100] cannot stand beside train = 0.8"));
  EXPECT_THAT(problem("{ train = 0.8, test = 0.3 }").message, HasSubstr("brings the fractions to 1.1"));
  EXPECT_THAT(problem("{ train = 1.5, test = 0.3 }").message, HasSubstr("must lie in (0, 1]"));
  EXPECT_THAT(problem("{ train = \"trian\", test = \"test\" }").message, HasSubstr("did you mean \"train\""));
  EXPECT_THAT(problem("{ train = \"train\", test = \"validation\" }").message,
              HasSubstr("unknown part \"validation\""));
  EXPECT_THAT(problem("{ train = \"train[5]\", test = \"test\" }").message, HasSubstr("write \"train[0:2000]\""));
  EXPECT_THAT(problem("{ train = \"a.txt\", test = \"test[0:5]\" }").message,
              HasSubstr("beside a list stand other lists or whole parts"));
  EXPECT_THAT(problem("{ train = \"train[7:7]\", test = \"test\" }").message, HasSubstr("holds no example"));
  EXPECT_THAT(problem("{ train = true, test = \"test\" }").message, HasSubstr("takes a range [begin, end)"));
}

TEST(DataTable, EveryFieldSurvivesJson) {
  DataSpec data = GoodData(Table("covidx",
                                 "split = { train = \"train\", public = \"test[0:9]\", test = \"test[9:]\" }\n"
                                 "version = \"9A\"\nmean = [0.1, 0.2, 0.3]\nstd = [1, 2, 3]\n"));
  data.split.test_source = {"", "/l.txt", std::string(64, 'e'), 0, false};
  TrialSpec spec;
  spec.data = std::make_shared<DataSpec>(data);
  const auto back = DecodeTrialSpec(EncodeTrialSpec(spec));
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(EncodeTrialSpec(*back), EncodeTrialSpec(spec));
  EXPECT_EQ(EncodeCanonically(*back), EncodeCanonically(spec));
  EXPECT_EQ(back->data->split.test_source, data.split.test_source);
  EXPECT_EQ(back->data->std, data.std);
}

TEST(DataTable, WhatDecidesTheExamplesDecidesTheTrial) {
  const auto id = [](const auto& edit) {
    DataSpec data;
    data.reader = "celeba";
    data.digest = std::string(64, 'd');
    data.target = "gender";
    data.channels = 3;
    edit(data);
    TrialSpec spec;
    spec.data = std::make_shared<DataSpec>(data);
    return ComputeTrialId(spec);
  };
  const TrialId plain = id([](DataSpec&) {});
  EXPECT_NE(id([](DataSpec& data) { data.target = "hair"; }), plain);
  EXPECT_NE(id([](DataSpec& data) { data.version = "5"; }), plain);
  EXPECT_NE(id([](DataSpec& data) { data.mean = {0.4}; }), plain);
  EXPECT_EQ(id([](DataSpec& data) { data.mean = {0.5, 0.5, 0.5}; }), plain) << "that is the reader's";
  EXPECT_NE(id([](DataSpec& data) { data.split.train_source.part = "train"; }), plain);
  EXPECT_NE(id([](DataSpec& data) { data.split.train_source = {"", "/l", "e", 0, false}; }), plain);
  EXPECT_EQ(id([](DataSpec& data) { data.split.train_source.fraction = 0.5; }), plain) << "the range says it";
}

}  // namespace
}  // namespace retort
