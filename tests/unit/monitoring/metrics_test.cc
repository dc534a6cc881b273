#include "monitoring/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "experiments/base/failure_kind.h"

namespace retort::monitoring {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(MetricCatalogueTest, FamiliesStandAtTheirEnumeratorsAndNamesAreDistinct) {
  std::set<std::string_view> names;
  std::size_t position = 0;
  for (const MetricFamily& family : GetMetricCatalogue()) {
    EXPECT_EQ(static_cast<std::size_t>(family.metric), position++) << family.name;
    EXPECT_EQ(&FindFamily(family.metric), &family);
    EXPECT_TRUE(names.insert(family.name).second) << family.name;
  }
  EXPECT_EQ(position, static_cast<std::size_t>(Metric::device_busy_ratio) + 1);
}

TEST(MetricCatalogueTest, NamesFollowTheRules) {
  const std::regex form("retort_[a-z][a-z0-9_]*");
  for (const MetricFamily& family : GetMetricCatalogue()) {
    const std::string name(family.name);
    EXPECT_TRUE(std::regex_match(name, form)) << name;
    EXPECT_EQ(name.ends_with("_total"), family.type == MetricType::counter) << name;
    if (family.unit == "seconds" || family.unit == "bytes" || family.unit == "info") {
      const std::string ending = family.type == MetricType::counter ? "_total" : "";
      EXPECT_TRUE(name.ends_with("_" + std::string(family.unit) + ending)) << name;
    }
    EXPECT_TRUE(family.help.ends_with(".")) << name;
    for (const MetricLabel& label : family.labels) {
      EXPECT_NE(label.name, "trial") << "unbounded: " << name;
      EXPECT_NE(label.values.empty(), label.bound.empty()) << name << ": how many " << label.name << "s can there be?";
    }
    EXPECT_EQ(family.type == MetricType::histogram, !family.bounds.empty()) << name;
    EXPECT_TRUE(std::ranges::is_sorted(family.bounds)) << name;
  }
}

TEST(MetricCatalogueTest, FailureKindsAreAllThereAndNoneIsNoFailure) {
  const auto& kinds = FindFamily(Metric::failures_total).labels.front().values;
  EXPECT_THAT(kinds, Contains(GetFailureName(FailureKind::worker_crash)));
  EXPECT_THAT(kinds, Contains(GetFailureName(FailureKind::internal)));
  EXPECT_THAT(kinds, Not(Contains("none")));
}

TEST(MetricCatalogueTest, EveryFamilySaysHowManySeriesItHas) {
  EXPECT_EQ(DescribeMaxSeries(FindFamily(Metric::uptime_seconds)), "1");
  EXPECT_EQ(DescribeMaxSeries(FindFamily(Metric::build_info)), "1");
  EXPECT_EQ(DescribeMaxSeries(FindFamily(Metric::trials)), "8");
  EXPECT_EQ(DescribeMaxSeries(FindFamily(Metric::epsilon_spent)), "data sets of the sweep");
  EXPECT_EQ(DescribeMaxSeries(FindFamily(Metric::worker_info)), "ranks of the launcher x slots of a rank");
  const MetricFamily& times = FindFamily(Metric::checkpoint_duration_seconds);
  EXPECT_EQ(DescribeMaxSeries(times), std::to_string(times.bounds.size() + 3));
  const MetricValues values;
  for (const MetricFamily& family : GetMetricCatalogue()) {
    const std::string most = DescribeMaxSeries(family);
    const bool closed = std::ranges::all_of(most, [](char c) { return c >= '0' && c <= '9'; });
    if (family.type == MetricType::histogram || !closed) continue;
    EXPECT_LE(values.Series(family.metric).size(), std::stoul(most)) << family.name;
  }
}

TEST(MetricValuesTest, ClosedLabelsAndScalarsStartAtZeroAndOpenOnesEmpty) {
  const MetricValues values;
  EXPECT_EQ(values.Series(Metric::trials).size(), 8U);
  EXPECT_EQ(values.Series(Metric::steps_total).size(), 1U);
  EXPECT_TRUE(values.Series(Metric::epsilon_spent).empty());
  EXPECT_EQ(values.Get(Metric::epsilon_spent, {"digits", "example"}), 0);
}

TEST(MetricValuesTest, SetReplacesAndAddSums) {
  MetricValues values;
  values.Set(Metric::trials, {"running"}, 3);
  values.Set(Metric::trials, {"running"}, 2);
  values.Add(Metric::steps_total, 10);
  values.Add(Metric::steps_total, 5);
  EXPECT_EQ(values.Get(Metric::trials, {"running"}), 2);
  EXPECT_EQ(values.Get(Metric::steps_total), 15);
}

TEST(MetricValuesDeathTest, LabelsThatTheFamilyLacksAreBrokenInvariants) {
  MetricValues values;
  EXPECT_DEATH(values.Set(Metric::trials, {"sleeping"}, 1), "broken invariant");
  EXPECT_DEATH(values.Set(Metric::trials, 1), "broken invariant");
}

}  // namespace
}  // namespace retort::monitoring
