#include "orchestrator/cli/render/trial_drawings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Chart(const CurvePoints& points) {
  Html html;
  WriteCurve(html, "train.loss", points);
  return html.Take();
}

std::ptrdiff_t PointsDrawn(const std::string& html) {
  const std::size_t begin = html.find("points=\"");
  const std::size_t end = html.find('"', begin + 8);
  return std::count(html.begin() + static_cast<std::ptrdiff_t>(begin), html.begin() + static_cast<std::ptrdiff_t>(end),
                    ',');
}

TEST(CurveChart, SaysInWordsWhatItDraws) {
  const CurvePoints points = {{0, 2.5}, {10, 0.25}, {20, 0.5}};
  const std::string words = "train.loss, 3 points from step 0 to 20: 2.5 at first, 0.5 at last, between 0.25 and 2.5";
  EXPECT_EQ(DescribeCurve("train.loss", points), words);
  EXPECT_THAT(Chart(points), HasSubstr("role=\"img\" aria-label=\"" + words + "\""));
}

TEST(CurveChart, LargeValuesStandAtTheTop) {
  EXPECT_THAT(Chart({{0, 1}, {10, 3}}), HasSubstr("points=\"4.0,100.0 296.0,18.0\""));
}

TEST(CurveChart, ValuesThatAreNotFiniteAreCounted) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const std::string html = Chart({{0, 1}, {1, nan}, {2, inf}, {3, 2}});
  EXPECT_THAT(html, HasSubstr("2 values are not finite"));
  EXPECT_THAT(html, HasSubstr("2 of 4 values are not finite"));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_EQ(PointsDrawn(html), 2);
}

TEST(CurveChart, NothingFiniteIsNoDrawing) {
  const std::string html = Chart({{0, std::nan("")}});
  EXPECT_THAT(html, Not(HasSubstr("<svg")));
  EXPECT_THAT(html, HasSubstr("1 of 1 values are not finite"));
}

TEST(CurveChart, OneValueIsADot) {
  EXPECT_THAT(Chart({{5, 0.5}}), HasSubstr("<circle class=\"dot\" cx=\"4.0\" cy=\"59.0\""));
}

TEST(CurveChart, ValuesAtTheEndOfTheRangeOfNumbersAreDrawn) {
  const double most = std::numeric_limits<double>::max();
  EXPECT_THAT(Chart({{0, -most}, {1, most}}), HasSubstr("points=\"4.0,100.0 296.0,18.0\""));
}

TEST(CurveChart, OfManyPointsTheExtremesAreKept) {
  CurvePoints points;
  for (std::int64_t step = 0; step < 100'000; ++step) points.emplace_back(step, 1);
  points[33'333].second = 7;
  points[77'777].second = -5;
  const std::string html = Chart(points);
  EXPECT_LE(PointsDrawn(html), 202);
  EXPECT_THAT(html, HasSubstr(",18.0 "));   // of 7
  EXPECT_THAT(html, HasSubstr(",100.0 "));  // of -5
  EXPECT_LT(html.size(), 5000U);
}

}  // namespace
}  // namespace retort::orchestrator::cli
