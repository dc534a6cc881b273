#include "orchestrator/results/stored_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kToml = R"(retort = 1
[data.digits]
reader = "idx"
path = "/data/nobody/has"
split = { train = [0, 8000], test = [9000, 10000] }
published_as = "mnist"
[teacher]
single = { network = "datalens" }
[trial]
data = "digits"
teacher = "single"
[sweep]
name = "sample"
seeds = [0, 1, 2]
grid.reading = ["working", "printed"]
[table.readings]
rows = ["method"]
columns = ["data", "reading"]
[figure.bars]
kind = "bar"
x = "reading"
)";

TEST(RebuildPlan, TablesComeFromTheFileTrialsFromTheJournal) {
  const testing::Sample sample = testing::SampleSweep();
  const StoredPlan stored = RebuildPlan(sample.view, kToml);
  EXPECT_EQ(stored.trouble, "");
  EXPECT_EQ(stored.plan.name, "sample");
  EXPECT_EQ(stored.plan.file, "results/sample/sweep.toml");
  ASSERT_THAT(stored.plan.trials, SizeIs(5));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(stored.plan.trials[i].id, sample.view.trials[i].spec.id);
  ASSERT_THAT(stored.plan.tables, SizeIs(1));
  EXPECT_THAT(stored.plan.tables[0].columns, ElementsAre("data", "reading"));
  ASSERT_THAT(stored.plan.figures, SizeIs(1));
  EXPECT_EQ(stored.plan.figures[0].x, "reading");
}

TEST(RebuildPlan, DataAreAsTheyWereFoundAndNamedAsTheFileNamesThem) {
  const testing::Sample sample = testing::SampleSweep();
  const StoredPlan stored = RebuildPlan(sample.view, kToml);
  ASSERT_THAT(stored.plan.data, SizeIs(1));
  const DataSpec& data = *stored.plan.data[0];
  EXPECT_EQ(data.digest, std::string(64, 'a'));
  EXPECT_EQ(data.examples, 10000);
  EXPECT_EQ(data.published_as, "mnist");
  EXPECT_EQ(stored.plan.trials[0].data.get(), &data);
}

TEST(RebuildPlan, AFileThatCannotBeReadLeavesTheTrials) {
  const testing::Sample sample = testing::SampleSweep();
  for (const char* text : {"retort = 1\n[trial\n", "", "retort = 1\n[sweep]\nname = \"sample\"\nunknown = 1\n"}) {
    const StoredPlan stored = RebuildPlan(sample.view, text);
    EXPECT_THAT(stored.trouble, HasSubstr("sweep.toml cannot be read")) << text;
    EXPECT_THAT(stored.plan.trials, SizeIs(5));
    EXPECT_THAT(stored.plan.tables, SizeIs(0));
  }
}

TEST(RebuildPlan, ARehearsalIsKnownByItsName) {
  testing::Sample sample = testing::SampleSweep();
  EXPECT_EQ(RebuildPlan(sample.view, kToml).plan.profile, "");
  sample.view.sweep = "sample-smoke";
  EXPECT_EQ(RebuildPlan(sample.view, kToml).plan.profile, "smoke");
}

}  // namespace
}  // namespace retort::orchestrator::cli
