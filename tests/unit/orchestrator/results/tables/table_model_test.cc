#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/results/tables/result_table.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Optional;

ResultTable MakeTable(const testing::Sample& sample, const std::vector<PublishedValue>& published = {}) {
  return BuildTable(sample.plan, sample.plan.tables.front(), sample.view, published);
}

TEST(ResultTable, SeedsOfOneRowAreOneCell) {
  const ResultTable table = MakeTable(testing::SampleSweep());
  ASSERT_EQ(table.cells.size(), 2U);
  const TableCell& cell = table.cells[0];
  EXPECT_THAT(cell.row, ElementsAre("dpdfd", "working", "single"));
  EXPECT_THAT(cell.column, ElementsAre("digits"));
  EXPECT_EQ(cell.summary.n, 2);
  EXPECT_NEAR(cell.summary.mean, 0.92, 1e-12);
  EXPECT_NEAR(cell.summary.sd.value_or(0), 0.014142135623730963, 1e-12);
  EXPECT_EQ(cell.planned, 3);
  EXPECT_EQ(cell.state, CellState::partial);
  EXPECT_EQ(cell.trials.size(), 3U);
  EXPECT_EQ(cell.working, "working");
}

TEST(ResultTable, BaselineHasNoReading) {
  const ResultTable table = MakeTable(testing::SampleSweep());
  EXPECT_THAT(table.cells[1].row, ElementsAre("dpsgd", "", ""));
  EXPECT_EQ(table.cells[1].state, CellState::complete);
  EXPECT_EQ(table.cells[1].working, "");
}

TEST(ResultTable, OnlySeedsShareACellWhateverTheTableNames) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].rows = {"method"};
  for (std::size_t i = 0; i < sample.plan.trials.size(); ++i) {
    TrialSpec& spec = sample.plan.trials[i];
    if (spec.method == "dpdfd") spec.axes = {{"method", "dpdfd"}, {"sigma", i % 2 == 0 ? "50" : "100"}};
  }
  const ResultTable table = MakeTable(sample);
  EXPECT_THAT(table.spec.rows, ElementsAre("method", "sigma"));
  ASSERT_EQ(table.cells.size(), 3U);
  for (const TableCell& cell : table.cells) EXPECT_EQ(cell.row.size(), 2U);
  EXPECT_NE(table.cells[0].row, table.cells[1].row);
}

TEST(ResultTable, AnEpsilonThatNobodyAskedForIsNoneAndNotZero) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].columns = {"epsilon"};
  for (TrialSpec& spec : sample.plan.trials) spec.privacy.epsilon = spec.method == "dpdfd" ? 2 : 0;
  const ResultTable table = MakeTable(sample);
  ASSERT_EQ(table.cells.size(), 2U);
  EXPECT_THAT(table.cells[0].column, ElementsAre("2"));
  EXPECT_THAT(table.cells[1].column, ElementsAre(""));
}

TEST(ResultTable, AxisThatFollowsFromTheRowKeysNeedsNoRowKey) {
  testing::Sample sample = testing::SampleSweep();
  for (TrialSpec& spec : sample.plan.trials) spec.axes = {{"sigma", spec.method == "dpsgd" ? "" : "50"}};
  EXPECT_THAT(MakeTable(sample).spec.rows, ElementsAre("method", "reading", "teacher"));
}

TEST(ResultTable, TeachersOfDifferentNamesAreDifferentLines) {
  testing::Sample sample = testing::SampleSweep();
  TrialSpec other = sample.plan.trials[0];
  other.teacher = "another";
  other.id = TrialId(0x3333);
  sample.plan.trials.push_back(other);
  EXPECT_EQ(MakeTable(sample).teachers.size(), 2U);
}

TEST(ResultTable, OnlySeedsOfATeacherShareALine) {
  const auto lines = [](auto change) {
    testing::Sample sample = testing::SampleSweep();
    TrialSpec& teacher = sample.plan.trials[0];
    teacher.method = "dpsgd";  // has all of these settings
    TrialSpec other = teacher;
    change(other);
    other.id = TrialId(0x3333);
    sample.plan.trials.push_back(other);
    return MakeTable(sample).teachers.size();
  };
  EXPECT_EQ(lines([](TrialSpec& spec) { ++spec.seed; }), 1U);
  EXPECT_EQ(lines([](TrialSpec& spec) { spec.method = "plain"; }), 2U);
  EXPECT_EQ(lines([](TrialSpec& spec) { spec.network = "wrn16-1-gn"; }), 2U);
  EXPECT_EQ(lines([](TrialSpec& spec) { spec.privacy.delta /= 10; }), 2U);
  EXPECT_EQ(lines([](TrialSpec& spec) { spec.noise = NoiseMode::seeded; }), 2U);
  EXPECT_EQ(lines([](TrialSpec& spec) { ++spec.threads; }), 2U);
}

TEST(ResultTable, TeachersStandApart) {
  const ResultTable table = MakeTable(testing::SampleSweep());
  ASSERT_EQ(table.teachers.size(), 1U);
  EXPECT_EQ(table.teachers[0].name, "single");
  EXPECT_EQ(table.teachers[0].summary.n, 1);
  EXPECT_DOUBLE_EQ(table.teachers[0].summary.mean, 0.978);
}

TEST(ResultTable, WithoutResultsEveryCellIsMissing) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials.clear();
  const ResultTable table = MakeTable(sample);
  ASSERT_EQ(table.cells.size(), 2U);
  for (const TableCell& cell : table.cells) EXPECT_EQ(cell.state, CellState::missing);
}

TEST(ResultTable, FailedTrialsAreCountedAndNotMeasured) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[4].state = TrialState::failed;
  const ResultTable table = MakeTable(sample);
  EXPECT_EQ(table.cells[1].failed, 1);
  EXPECT_EQ(table.cells[1].summary.n, 0);
  EXPECT_EQ(table.cells[1].state, CellState::missing);
  EXPECT_TRUE(table.cells[1].claims.empty());
}

TEST(ResultTable, TrialThatSucceededWithoutTheMetricHasNotFailed) {
  testing::Sample sample = testing::SampleSweep();
  for (TrialView& trial : sample.view.trials)
    if (trial.row) trial.row->metrics.clear();
  for (const TableCell& cell : MakeTable(sample).cells) {
    EXPECT_EQ(cell.failed, 0);
    EXPECT_EQ(cell.summary.n, 0);
  }
}

TEST(ResultTable, TrialsOutsideThePlanDoNotCount) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.trials.erase(sample.plan.trials.begin() + 2);  // seed 1
  const ResultTable table = MakeTable(sample);
  EXPECT_EQ(table.cells[0].summary.n, 1);
  EXPECT_EQ(table.cells[0].planned, 2);
}

TEST(ResultTable, PublishedValueJoinsUnderTheDataSetsPublishedName) {
  const auto data = testing::SampleData();
  data->published_as = "MNIST";
  testing::Sample sample = testing::SampleSweep();
  for (TrialSpec& spec : sample.plan.trials) {
    spec.data = data;
    if (spec.method == "dpdfd") spec.privacy.epsilon = 1;
  }
  const ResultTable table = MakeTable(sample, FindPublishedTable("dpdfd-ijcai23/table1"));
  EXPECT_THAT(table.cells[0].published, Optional(0.9512));
  EXPECT_FALSE(table.cells[1].published);
  EXPECT_THAT(table.teachers[0].published, Optional(0.9921));
}

TEST(ResultTable, PublishedValuesOfOtherMethodsAreQuoted) {
  const auto data = testing::SampleData();
  data->published_as = "MNIST";
  testing::Sample sample = testing::SampleSweep();
  sample.plan.data = {data};
  for (TrialSpec& spec : sample.plan.trials) {
    spec.data = data;
    if (spec.method == "dpdfd") spec.privacy.epsilon = 1;
  }
  const auto published = ParsePublished(
      "paper,table,dataset,approach,epsilon,delta,setting,metric,value,note\n"
      "p,t,MNIST,Teacher,,,,accuracy,0.99,\n"
      "p,t,MNIST,DP-GAN,1,1e-5,,accuracy,0.4036,\n"
      "p,t,FMNIST,DP-GAN,1,1e-5,,accuracy,0.1,\n"
      "p,t,MNIST,DPDFD,1,1e-5,,accuracy,0.9512,\n");
  const ResultTable table = MakeTable(sample, published);
  ASSERT_EQ(table.cells.size(), 3U);
  const TableCell& quoted = table.cells[2];
  EXPECT_EQ(quoted.state, CellState::quoted);
  EXPECT_THAT(quoted.row, ElementsAre("DP-GAN", "", ""));
  EXPECT_THAT(quoted.published, Optional(0.4036));
  EXPECT_EQ(quoted.summary.n, 0);
  ASSERT_EQ(quoted.claims.size(), 1U);
  EXPECT_EQ(quoted.claims[0].status, privacy::ClaimStatus::paper_formula);
  EXPECT_DOUBLE_EQ(quoted.claims[0].delta, 1e-5);
}

// The sample, on a data set of that published name, its student asked for epsilon 1.
testing::Sample PublishedSample(const std::string& published_as) {
  const auto data = testing::SampleData();
  data->published_as = published_as;
  testing::Sample sample = testing::SampleSweep();
  sample.plan.data = {data};
  for (TrialSpec& spec : sample.plan.trials) {
    spec.data = data;
    if (spec.method == "dpdfd") spec.privacy.epsilon = 1;
  }
  return sample;
}

TEST(ResultTable, ADeltaThatNoTextStatesIsNotedAsChosen) {
  const testing::Sample sample = PublishedSample("MNIST");
  const std::string header = testing::kPublishedHeader;
  const ResultTable chosen = MakeTable(sample, ParsePublished(header + "p,t,MNIST,DPDFD,1,,,accuracy,0.9,\n"));
  EXPECT_THAT(chosen.cells[0].notes, ElementsAre("p/t: no δ is stated for this value; δ = 1e-5 is chosen here"));
  const ResultTable stated = MakeTable(sample, ParsePublished(header + "p,t,MNIST,DPDFD,1,1e-5,,accuracy,0.9,\n"));
  EXPECT_THAT(stated.cells[0].published, Optional(0.9));
  EXPECT_THAT(stated.cells[0].notes, ElementsAre());
}

TEST(ResultTable, AnotherDeltaBesideAValueThatTheTableNamesIsNoted) {
  testing::Sample sample = PublishedSample("MNIST");
  for (TrialSpec& spec : sample.plan.trials) spec.privacy.delta = 1e-4;
  sample.plan.tables[0].joins = {{{{"method", {"dpdfd"}}}, {{"approach", "DPDFD"}}}};
  const ResultTable table =
      MakeTable(sample, ParsePublished(testing::kPublishedHeader + "p,t,MNIST,DPDFD,1,1e-5,,accuracy,0.9,\n"));
  EXPECT_THAT(table.cells[0].published, Optional(0.9));
  EXPECT_THAT(table.cells[0].notes, ElementsAre("p/t: published at δ = 1e-5; here it is 1e-4"));
}

TEST(ResultTable, ADeltaBesideAValueWithoutEpsilonIsNoted) {
  const ResultTable table = MakeTable(PublishedSample("MNIST"),
                                      ParsePublished(testing::kPublishedHeader + "p,t,MNIST,DPDFD,,,,accuracy,0.9,\n"));
  EXPECT_THAT(table.cells[0].notes, ElementsAre("p/t: no ε is stated for this value",
                                                "p/t: no δ is stated for this value; δ = 1e-5 is chosen here"));
}

TEST(ResultTable, ADeltaIsNotedWithoutAPublishedValue) {
  constexpr const char* kLine =
      "the text of dpdfd states a δ in Tables 1 and 3 and Figure 2 alone; δ = 1e-5 is chosen here.";
  testing::Sample sample = PublishedSample("MNIST");
  EXPECT_THAT(MakeTable(sample).settings, Contains(kLine));
  const std::string header = testing::kPublishedHeader;
  const ResultTable stated = MakeTable(sample, ParsePublished(header + "p,t,MNIST,DP-GAN,1,1e-5,,accuracy,0.4,\n"));
  EXPECT_THAT(stated.settings, Not(Contains(kLine))) << "the paper's table is under that δ";
  for (TrialSpec& spec : sample.plan.trials)
    if (spec.method == "dpdfd") spec.method = "dpsd-data";
  EXPECT_THAT(MakeTable(sample).settings, Not(Contains(HasSubstr("is chosen here")))) << "DPSD states it for all";
  sample = PublishedSample("MNIST");
  sample.plan.profile = "smoke";
  EXPECT_THAT(MakeTable(sample).settings, Not(Contains(kLine)));
}

TEST(ResultTable, ANetworkOfAnotherSizeIsNoted) {
  testing::Sample sample = PublishedSample("MNIST");
  sample.plan.tables[0].metric = "student.parameters";
  const auto note_at = [&](double parameters) {
    sample.view.trials[0].row->metrics = {{"student.parameters", parameters}};
    const ResultTable table =
        MakeTable(sample, ParsePublished(testing::kPublishedHeader + "p,t,MNIST,Teacher,,,,parameters,155.21K,\n"));
    EXPECT_THAT(table.teachers[0].published, Optional(155'210));
    return table.teachers[0].notes;
  };
  EXPECT_THAT(note_at(155'214), ElementsAre());
  EXPECT_THAT(note_at(152'138), ElementsAre("p/t: another network: the paper's has 155.21K parameters"));
}

// An accuracy is of the network whose size stands in another column of the paper's table.
TEST(ResultTable, AccuracyOfAnotherNetworkIsNoted) {
  testing::Sample sample = PublishedSample("MNIST");
  const auto note_at = [&](double parameters) {
    sample.view.trials[0].row->metrics.emplace_back("student.parameters", parameters);
    const ResultTable table = MakeTable(
        sample,
        ParsePublished(testing::kPublishedHeader +
                       std::string("p,t,MNIST,Teacher,,,,accuracy,0.99,\np,t,MNIST,Teacher,,,,parameters,155.21K,\n")));
    sample.view.trials[0].row->metrics.pop_back();
    EXPECT_THAT(table.teachers[0].published, Optional(0.99));
    return table.teachers[0].notes;
  };
  EXPECT_THAT(note_at(155'214), ElementsAre());
  EXPECT_THAT(note_at(152'138), ElementsAre("p/t: another network: the paper's has 155.21K parameters"));
}

std::vector<std::string> Quoted(const ResultTable& table) {
  std::vector<std::string> quoted;
  for (const TableCell& cell : table.cells) {
    if (cell.state != CellState::quoted) continue;
    std::string text;
    for (const std::string& value : cell.row) text += value + "|";
    for (const std::string& value : cell.column) text += value + "|";
    quoted.push_back(text);
  }
  return quoted;
}

TEST(ResultTable, QuotedValuesStandWhereTheirSettingSays) {
  testing::Sample sample = PublishedSample("MNIST");
  sample.plan.tables[0].rows = {"method", "reading"};
  sample.plan.tables[0].columns = {"sigma"};
  EXPECT_THAT(
      Quoted(MakeTable(sample, ParsePublished(testing::kPublishedHeader + "p,t,MNIST,DPDFD,,,sigma=20,accuracy,0.4,\n"
                                                                          "p,t,MNIST,DP-GAN,1,1e-5,,accuracy,0.4,\n"))),
      ElementsAre("DPDFD||20|"))
      << "DP-GAN has no sigma and so no column";
}

TEST(ResultTable, QuotedValuesOfOnePlaceSayTheirSetting) {
  const testing::Sample sample = PublishedSample("MNIST");
  EXPECT_THAT(
      Quoted(MakeTable(sample, ParsePublished(testing::kPublishedHeader + "p,t,MNIST,A,1,1e-5,x,accuracy,0.4,\n"
                                                                          "p,t,MNIST,A,1,1e-5,y,accuracy,0.5,\n"
                                                                          "p,t,MNIST,B,1,1e-5,x,accuracy,0.5,\n"))),
      ElementsAre("A (x)|||digits|", "A (y)|||digits|", "B|||digits|"));
}

TEST(ResultTable, QuotedValuesOfOnePlaceSayTheirEpsilon) {
  testing::Sample sample = PublishedSample("MNIST");
  const auto published = ParsePublished(testing::kPublishedHeader +
                                        "p,t,MNIST,A,1,1e-5,x,accuracy,0.4,\n"
                                        "p,t,MNIST,A,10,1e-5,x,accuracy,0.5,\n");
  EXPECT_THAT(Quoted(MakeTable(sample, published)), ElementsAre("A (ε = 1)|||digits|", "A (ε = 10)|||digits|"));
  sample.plan.tables[0].columns = {"epsilon"};
  EXPECT_THAT(Quoted(MakeTable(sample, published)), ElementsAre("A|||1|", "A|||10|"));
}

TEST(ResultTable, ATableWithoutMethodsQuotesOnlyItsOwn) {
  testing::Sample sample = PublishedSample("ImageNet");
  std::erase_if(sample.plan.trials, [](const TrialSpec& spec) { return spec.method == "dpsgd"; });
  sample.plan.tables[0].rows = {"teacher"};
  sample.plan.tables[0].columns = {"epsilon"};
  const auto published = ParsePublished(testing::kPublishedHeader +
                                        "p,t,ImageNet,DPDFD,5,1e-5,teacher=ViT,accuracy,0.4,\n"
                                        "p,t,ImageNet,DPSD,5,1e-5,teacher=ViT,accuracy,0.5,\n"
                                        "p,t,ImageNet,DP-GAN,5,1e-5,,accuracy,0.5,\n");
  EXPECT_THAT(Quoted(MakeTable(sample, published)), ElementsAre("ViT|5|"));
}

TEST(ResultTable, ValuesOfOtherMetricsAreNotQuoted) {
  testing::Sample sample = PublishedSample("MNIST");
  const auto published = ParsePublished(testing::kPublishedHeader + "p,t,MNIST,X,1,1e-5,,seconds,0.4,\n");
  EXPECT_THAT(Quoted(MakeTable(sample, published)), ElementsAre());
  sample.plan.tables[0].metric = "seconds";
  EXPECT_THAT(Quoted(MakeTable(sample, published)), ElementsAre("X|||digits|"));
}

TEST(ResultTable, NotesOfPublishedValuesAreFootnotes) {
  const testing::Sample sample = PublishedSample("MNIST");
  const ResultTable table =
      MakeTable(sample, ParsePublished(testing::kPublishedHeader + "p,t,MNIST,DPDFD,1,1e-5,,accuracy,0.5,odd\n"
                                                                   "p,t,MNIST,DP-GAN,1,1e-5,,accuracy,0.4,even\n"));
  EXPECT_THAT(table.cells[0].notes, ElementsAre("p/t: odd"));
  ASSERT_TRUE(table.cells[0].source);
  EXPECT_EQ(table.cells[0].source->approach, "DPDFD");
  EXPECT_THAT(table.cells[2].notes, ElementsAre("p/t: even"));
}

TEST(ResultTable, AValueWithoutEpsilonBesideATrialWithOneIsNoted) {
  const testing::Sample sample = PublishedSample("MNIST");
  const ResultTable table =
      MakeTable(sample, ParsePublished(testing::kPublishedHeader + "p,t,MNIST,DPDFD,,,,accuracy,0.5,\n"));
  EXPECT_THAT(table.cells[0].notes, ElementsAre("p/t: no ε is stated for this value",
                                                "p/t: no δ is stated for this value; δ = 1e-5 is chosen here"));
}

TEST(ResultTable, AValueThatFitsSeveralRowsIsQuotedAndWarnedOf) {
  testing::Sample sample = PublishedSample("MNIST");
  for (std::size_t i = 1; i < 4; ++i) sample.plan.trials[i].axes = {{"sigma", i == 1 ? "50" : "100"}};
  const ResultTable table =
      MakeTable(sample, ParsePublished(testing::kPublishedHeader + "p,t,MNIST,DPDFD,1,1e-5,,accuracy,0.5,\n"));
  for (const TableCell& cell : table.cells) EXPECT_EQ(cell.published.has_value(), cell.state == CellState::quoted);
  EXPECT_THAT(Quoted(table), ElementsAre("DPDFD||||digits|"));
  EXPECT_THAT(table.warnings, ElementsAre(HasSubstr("fits 2 rows that differ in sigma")));
}

TEST(ResultTable, WhereTakesTheTrialsAndTheTeachersThatTheyName) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].where = {{"method", {"dpsgd", "sleep"}}};
  ResultTable table = MakeTable(sample);
  ASSERT_EQ(table.cells.size(), 1U);
  EXPECT_THAT(table.cells[0].row, ElementsAre("dpsgd", "", ""));
  EXPECT_TRUE(table.teachers.empty());
  sample.plan.tables[0].where = {{"seed", {"0", "1.0"}}, {"method", {"dpdfd"}}};
  table = MakeTable(sample);
  EXPECT_EQ(table.cells.at(0).planned, 2);
  EXPECT_EQ(table.teachers.size(), 1U);
}

// 10,000 digits: 1,000 for testing. By hand, p = 0.92, z^2/n = 0.003841: centre 0.9183928, half width 0.0168592.
TEST(ResultTable, AccuraciesHaveTheIntervalOfTheTestSet) {
  const ResultTable table = MakeTable(testing::SampleSweep());
  ASSERT_TRUE(table.cells[0].test);
  EXPECT_EQ(table.cells[0].test->n, 1000);
  EXPECT_NEAR(table.cells[0].test->low, 0.9015336, 1e-6);
  EXPECT_NEAR(table.cells[0].test->high, 0.9352520, 1e-6);
  EXPECT_TRUE(table.teachers[0].test);
}

TEST(ResultTable, WithoutAKnownTestSetThereIsNoIntervalOfIt) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[4].row->metrics.emplace_back("data.skipped", 1);
  EXPECT_FALSE(MakeTable(sample).cells[1].test) << "the pictures left out may be test pictures";
  sample.plan.tables[0].metric = "data.skipped";
  EXPECT_FALSE(MakeTable(sample).cells[1].test) << "no fraction of test examples";
  sample = testing::SampleSweep();
  sample.view.trials.clear();
  EXPECT_FALSE(MakeTable(sample).cells[0].test);
}

TEST(ResultTable, IntervalOverSeedsIsTheOneThatTheTableAsksFor) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].interval = retort::Interval::bootstrap;
  ASSERT_TRUE(MakeTable(sample).cells[0].summary.ci95);
  EXPECT_DOUBLE_EQ(MakeTable(sample).cells[0].summary.ci95->first, 0.91);
}

TEST(ResultTable, TheProfileSmokeMarksItsCells) {
  testing::Sample sample = testing::SampleSweep();
  EXPECT_FALSE(MakeTable(sample).smoke);
  sample.plan.profile = "smoke";
  EXPECT_TRUE(MakeTable(sample).smoke);
  EXPECT_TRUE(MakeTable(sample).settings.empty()) << "settings are of the size that shows that it works";
  EXPECT_TRUE(MakeTable(sample).cells[0].differs.empty());
  sample.plan.profile = "large";
  EXPECT_FALSE(MakeTable(sample).smoke);
}

TEST(ResultTable, DataSetWithoutPublishedNameJoinsNothing) {
  const ResultTable table = MakeTable(testing::SampleSweep(), FindPublishedTable("dpdfd-ijcai23/table1"));
  for (const TableCell& cell : table.cells) EXPECT_FALSE(cell.published);
}

TEST(ResultTable, RefutedClaimIsSaidInWords) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials[4].refuted = {"release-step audit of a step: the attack shows mu >= 2.5"};
  const ResultTable table = MakeTable(sample);
  ASSERT_EQ(table.warnings.size(), 1U);
  EXPECT_THAT(table.warnings[0], HasSubstr("a proven claim of dpsgd-digits-s0-"));
  EXPECT_THAT(table.warnings[0], HasSubstr("is refuted by release-step audit of a step"));
}

TEST(ResultTable, DeltaAboveOneOverNWarns) {
  testing::Sample sample = testing::SampleSweep();
  EXPECT_TRUE(MakeTable(sample).warnings.empty());
  for (TrialSpec& spec : sample.plan.trials) spec.privacy.delta = 1e-3;
  ASSERT_EQ(MakeTable(sample).warnings.size(), 1U);
  EXPECT_THAT(MakeTable(sample).warnings[0], HasSubstr("1/N"));
}

TEST(ResultTable, MetricThatNoRowHasWarnsAndNamesWhatThereIs) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].metric = "test.acuracy";
  const ResultTable table = MakeTable(sample);
  ASSERT_EQ(table.warnings.size(), 1U);
  EXPECT_THAT(table.warnings[0], HasSubstr("rows have test.accuracy"));
}

TEST(ResultTable, HashChangesWithTheSpecsAndNotWithTheirOrder) {
  testing::Sample sample = testing::SampleSweep();
  const std::string hash = MakeTable(sample).spec_hash;
  std::swap(sample.plan.trials[1], sample.plan.trials[2]);
  EXPECT_EQ(MakeTable(sample).spec_hash, hash);
  sample.plan.trials[1].id = TrialId(7);
  EXPECT_NE(MakeTable(sample).spec_hash, hash);
}

TEST(ResultTable, ColumnsOfOneRowStandTogether) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].rows = {"method"};
  sample.plan.tables[0].columns = {"seed"};
  const ResultTable table = MakeTable(sample);
  ASSERT_EQ(table.cells.size(), 4U);
  EXPECT_THAT(table.cells[0].column, ElementsAre("0"));
  EXPECT_THAT(table.cells[2].column, ElementsAre("2"));
  EXPECT_THAT(table.cells[3].row, ElementsAre("dpsgd"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
