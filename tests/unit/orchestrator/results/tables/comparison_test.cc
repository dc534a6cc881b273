#include "orchestrator/results/tables/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/cli/render/comparison_text.h"
#include "orchestrator/results/tables/table_lines.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

// The sample's student was measured as 91 and 93 % over two of three seeds, its teacher as 97.8 % of 1,000 examples.
struct Compared {
  explicit Compared(const std::string& lines, const AbsentFiles& absent = {}, const std::string& profile = "") {
    testing::Sample sample = testing::SampleSweep();
    auto data = testing::SampleData();
    data->published_as = "MNIST";
    sample.plan.data = {data};
    sample.plan.profile = profile;
    for (TrialSpec& spec : sample.plan.trials) spec.data = data;
    published = ParsePublished(testing::kPublishedHeader + lines);
    const ResultTable table = BuildTable(sample.plan, sample.plan.tables[0], sample.view, published);
    keys = ListKeyNames(table);
    values = CompareTable(sample.plan, table, published, absent);
  }

  const ComparedValue& Of(const std::string& approach) const {
    for (const ComparedValue& one : values)
      if (one.value.approach == approach) return one;
    ADD_FAILURE() << approach << " was not compared";
    return values.front();
  }

  std::vector<PublishedValue> published;
  std::vector<std::string> keys;
  std::vector<ComparedValue> values;
};

TEST(Comparison, SeveralSeedsAreJudgedByTheirInterval) {
  const Compared compared("p,t,MNIST,DPDFD,,,,accuracy,0.95,\n");
  const ComparedValue& student = compared.Of("DPDFD");
  EXPECT_EQ(student.interval_kind, IntervalKind::seeds);  // 92 ± 12.7 %
  EXPECT_EQ(student.verdict, Verdict::inside);
  EXPECT_EQ(student.reading, "working");
  EXPECT_THAT(student.difference, Optional(DoubleNear(-0.03, 1e-12)));
  EXPECT_EQ(Compared("p,t,MNIST,DPDFD,,,,accuracy,0.75,\n").Of("DPDFD").verdict, Verdict::above);
}

TEST(Comparison, OneSeedIsJudgedByItsTestExamples) {
  const Compared compared("p,t,MNIST,Teacher,,,,accuracy,0.9921,\n");
  const ComparedValue& teacher = compared.Of("Teacher");
  EXPECT_EQ(teacher.role, "teacher");
  EXPECT_EQ(teacher.interval_kind, IntervalKind::test);
  EXPECT_EQ(teacher.verdict, Verdict::below);
  EXPECT_EQ(Compared("p,t,MNIST,Teacher,,,,accuracy,0.97,\n").Of("Teacher").verdict, Verdict::inside);
  EXPECT_EQ(Compared("p,t,MNIST,Teacher,,,,accuracy,0.95,\n").Of("Teacher").verdict, Verdict::above);
}

TEST(Comparison, AValueIsKnownToItsLastDigit) {
  // Wilson's interval of 978 in 1,000 ends at 0.9855.
  EXPECT_EQ(Compared("p,t,MNIST,Teacher,,,,accuracy,0.99,\n").Of("Teacher").verdict, Verdict::inside);
  EXPECT_EQ(Compared("p,t,MNIST,Teacher,,,,accuracy,0.990,\n").Of("Teacher").verdict, Verdict::below);
}

TEST(Comparison, WhatIsNotMeasuredSaysWhy) {
  const std::string lines =
      "p,t,MNIST,PATE-GAN,1,1e-5,,accuracy,0.5,\np,t,CelebA,DPDFD,,,,accuracy,0.9,\n"
      "p,t,MNIST,RONA,,,,accuracy,0.9,\n";
  const Compared compared(lines);
  ASSERT_EQ(compared.values.size(), 3);
  for (const ComparedValue& one : compared.values) EXPECT_EQ(one.verdict, Verdict::not_measurable);
  EXPECT_THAT(compared.Of("PATE-GAN").reason, HasSubstr("no method or metric"));
  EXPECT_THAT(compared.Of("DPDFD").reason, HasSubstr("no data set that is published as CelebA"));
  EXPECT_THAT(compared.Of("RONA").reason, HasSubstr("no trial of the sweep"));
}

TEST(Comparison, AbsentFilesMakeMissingRowsUnmeasurable) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials.clear();
  sample.plan.data[0] = sample.plan.trials[0].data = [] {
    auto data = testing::SampleData();
    data->published_as = "MNIST";
    return data;
  }();
  for (TrialSpec& spec : sample.plan.trials) spec.data = sample.plan.data[0];
  const auto published = ParsePublished(testing::kPublishedHeader + "p,t,MNIST,DPDFD,,,,accuracy,0.95,\n");
  const ResultTable table = BuildTable(sample.plan, sample.plan.tables[0], sample.view, published);
  const auto verdict = [&](const AbsentFiles& absent) {
    return CompareTable(sample.plan, table, published, absent).front();
  };
  EXPECT_EQ(verdict({}).verdict, Verdict::not_measured);
  EXPECT_EQ(verdict({{{"digits", "gone"}}, {}}).verdict, Verdict::not_measurable);
  EXPECT_EQ(verdict({{{"digits", "gone"}}, {}}).reason, "gone");
  EXPECT_EQ(verdict({{}, {{"single", "no weights"}}}).reason, "no weights");
  EXPECT_EQ(verdict({{{"other", "gone"}}, {{"other", "gone"}}}).verdict, Verdict::not_measured);
}

ComparedValue Judged(const PublishedValue& value, const std::string& reading, Verdict verdict, double difference = 0) {
  ComparedValue one;
  one.value = value;
  one.reading = reading;
  one.verdict = verdict;
  one.difference = difference;
  return one;
}

TEST(Comparison, EachValueCountsOnceByItsBestReading) {
  const auto all = ParsePublished(testing::kPublishedHeader +
                                  "p,t,MNIST,A,,,,accuracy,0.5,\np,t,MNIST,B,,,,accuracy,0.5,\nq,t,MNIST,C,,,,"
                                  "accuracy,0.5,\n");
  const std::vector<PaperCount> counts = CountByPaper(
      all, {Judged(all[0], "stated", Verdict::below, -0.4), Judged(all[0], "working", Verdict::inside),
            Judged(all[1], "stated", Verdict::below, -0.4), Judged(all[1], "working", Verdict::above, 0.1)});
  ASSERT_EQ(counts.size(), 2);
  EXPECT_EQ(counts[0].values, 2);
  EXPECT_THAT(counts[0].verdicts, ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(counts[0].by_reading.at("stated"), ElementsAre(0, 0, 2, 0, 0));
  EXPECT_THAT(counts[0].by_reading.at("working"), ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(counts[1].verdicts, ElementsAre(0, 0, 0, 0, 1));
}

TEST(Comparison, ARehearsalCountsAsNotMeasured) {
  const Compared compared("p,t,MNIST,Teacher,,,,accuracy,0.97,\n", {}, "smoke");
  ASSERT_TRUE(compared.Of("Teacher").smoke);
  EXPECT_THAT(CountByPaper(compared.published, compared.values)[0].verdicts, ElementsAre(0, 0, 0, 1, 0));
}

TEST(Comparison, AllPublishedValuesAreCounted) {
  int values = 0, unmeasurable = 0;
  for (const PaperCount& count : CountByPaper(ReadAllPublished(), {})) {
    values += count.values;
    unmeasurable += count.verdicts[static_cast<std::size_t>(Verdict::not_measurable)];
  }
  EXPECT_EQ(values, static_cast<int>(ReadAllPublished().size()));
  EXPECT_EQ(unmeasurable, values);
}

TEST(Comparison, ParametersAreWholeNumbers) {
  const Compared compared("p,t,SVHN,Teacher,,,,parameters,1.41M,\n");
  EXPECT_THAT(FormatComparison(compared.values, compared.keys), HasSubstr(" 1,410,000 "));
}

TEST(Comparison, TextAndJsonSayTheSame) {
  const Compared compared("p,t,MNIST,DPDFD,,,,accuracy,0.95,\np,t,MNIST,PATE-GAN,1,1e-5,,accuracy,0.5,\n");
  const std::string text = FormatComparison(compared.values, compared.keys);
  EXPECT_THAT(text, HasSubstr("92.00 ± 1.41 %"));
  EXPECT_THAT(text, HasSubstr("-3.00"));
  EXPECT_THAT(text, HasSubstr("1 inside, 1 not measurable here"));
  const nlohmann::ordered_json json = MakeComparedJson(compared.Of("DPDFD"), compared.keys);
  EXPECT_EQ(json.at("verdict"), "inside");
  EXPECT_EQ(json.at("interval_of"), "seeds");
  EXPECT_EQ(json.at("keys").at("method"), "dpdfd");
  EXPECT_TRUE(MakeComparedJson(compared.Of("PATE-GAN"), compared.keys).at("mean").is_null());
}

}  // namespace
}  // namespace retort::orchestrator::cli
