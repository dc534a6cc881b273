#include "orchestrator/results/trial_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

TEST(SpecField, ReadsKeysByTheirNameInTheSweepFile) {
  TrialSpec spec = testing::SampleStudent(testing::SampleData(), 2);
  spec.axes = {{"sigma", "50"}};
  EXPECT_THAT(FindSpecField(spec, "method"), Optional(std::string("dpdfd")));
  EXPECT_THAT(FindSpecField(spec, "reading"), Optional(std::string("working")));
  EXPECT_THAT(FindSpecField(spec, "data"), Optional(std::string("digits")));
  EXPECT_THAT(FindSpecField(spec, "seed"), Optional(std::string("2")));
  EXPECT_THAT(FindSpecField(spec, "sigma"), Optional(std::string("50")));
  EXPECT_THAT(FindSpecField(spec, "role"), Optional(std::string("student")));
  EXPECT_FALSE(FindSpecField(spec, "no-such-key"));
}

TEST(SpecField, KeyThatDoesNotApplyIsEmpty) {
  EXPECT_THAT(FindSpecField(testing::SampleBaseline(testing::SampleData()), "reading"), Optional(std::string()));
}

std::size_t CountHolding(const ResultsView& view, const std::vector<std::string>& conditions) {
  const Result<WhereFilter> filter = WhereFilter::Parse(conditions);
  EXPECT_TRUE(filter.ok());
  std::size_t count = 0;
  for (const TrialView& trial : view.trials) count += filter->Holds(trial) ? 1 : 0;
  return count;
}

TEST(WhereFilter, AllConditionsMustHold) {
  const ResultsView view = testing::SampleSweep().view;
  EXPECT_EQ(CountHolding(view, {}), 5U);
  EXPECT_EQ(CountHolding(view, {"method=dpdfd"}), 3U);
  EXPECT_EQ(CountHolding(view, {"method=dpdfd", "state=succeeded"}), 2U);
  EXPECT_EQ(CountHolding(view, {"role=teacher"}), 1U);
  EXPECT_EQ(CountHolding(view, {"state=failed"}), 0U);
}

TEST(WhereFilter, NumbersCompareAsNumbers) {
  const ResultsView view = testing::SampleSweep().view;
  EXPECT_EQ(CountHolding(view, {"seed=2.0"}), 1U);
  EXPECT_EQ(CountHolding(view, {"delta=0.00001"}), CountHolding(view, {"delta=1e-5"}));
  EXPECT_GT(CountHolding(view, {"delta=1e-5"}), 0U);
}

TEST(WhereFilter, MalformedAndUnknownKeysAreUsageErrors) {
  EXPECT_FALSE(WhereFilter::Parse({"state"}).ok());
  EXPECT_FALSE(WhereFilter::Parse({"=failed"}).ok());
  const Result<WhereFilter> filter = WhereFilter::Parse({"metod=dpdfd"});
  ASSERT_TRUE(filter.ok());
  const Status status = filter->CheckKeys(testing::SampleSweep().view);
  EXPECT_EQ(status.code(), StatusCode::usage);
  EXPECT_THAT(status.message(), HasSubstr("method"));
  EXPECT_THAT(status.choices(), ::testing::Contains("method"));
}

Status CheckValues(const std::string& condition) {
  const Result<WhereFilter> filter = WhereFilter::Parse({condition});
  return filter.ok() ? filter->CheckValues(testing::SampleSweep().view) : filter.status();
}

TEST(WhereFilter, ImpossibleValuesAreErrorsWithASuggestion) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"state=faild", "failed"},     {"method=dpsdg", "dpsgd"},
      {"role=teecher", "teacher"},   {"failure=wroker_crash", "worker_crash"},
      {"data=digit", "digits"},      {"teacher=singel", "single"},
      {"reading=wroking", "working"}};
  for (const auto& [condition, nearest] : kWrong) {
    const Status status = CheckValues(condition);
    EXPECT_EQ(status.code(), StatusCode::usage) << condition;
    ASSERT_FALSE(status.choices().empty()) << condition;
    EXPECT_EQ(status.choices().front(), nearest) << condition;
    EXPECT_THAT(status.message(), HasSubstr(nearest));
  }
  for (const char* right : {"state=failed", "state=parent-failed", "method=sleep", "failure=none", "failure=disk",
                            "reading=", "seed=77", "name=x", "epsilon=9", "steps=1", "trial=x"})
    EXPECT_TRUE(CheckValues(right).ok()) << right;
}

}  // namespace
}  // namespace retort::orchestrator::cli
