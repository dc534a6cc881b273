// Exact t-SNE: what a map keeps of distances, and that it goes down the slope of its own cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "orchestrator/results/tables/embedding.h"

namespace retort::orchestrator::plot {
namespace {

using ::testing::Each;

using Points = std::vector<std::vector<double>>;

Distances Between(const Points& points) {
  Distances distances{points.size(), std::vector<double>(points.size() * points.size())};
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = 0; j < points.size(); ++j)
      for (std::size_t k = 0; k < points[i].size(); ++k)
        distances.squared[i * points.size() + j] += std::pow(points[i][k] - points[j][k], 2);
  return distances;
}

// Points of even number about 0, of odd number about `apart` in every one of 20 dimensions.
Points TwoClusters(std::size_t n, double apart) {
  std::mt19937_64 bits(7);
  std::normal_distribution<double> normal;
  Points points(n, std::vector<double>(20));
  for (std::size_t i = 0; i < n; ++i)
    for (double& value : points[i]) value = normal(bits) + (i % 2 == 0 ? 0 : apart);
  return points;
}

double Apart(const Places& places, std::size_t i, std::size_t j) {
  return std::hypot(places.x[i] - places.x[j], places.y[i] - places.y[j]);
}

std::size_t Nearest(const Places& places, std::size_t i) {
  std::size_t nearest = i == 0 ? 1 : 0;
  for (std::size_t j = 0; j < places.x.size(); ++j)
    if (j != i && Apart(places, i, j) < Apart(places, i, nearest)) nearest = j;
  return nearest;
}

bool Finite(const Embedding& map) {
  const auto finite = [](double value) { return std::isfinite(value); };
  return std::all_of(map.places.x.begin(), map.places.x.end(), finite) &&
         std::all_of(map.places.y.begin(), map.places.y.end(), finite) && finite(map.divergence);
}

TEST(Embedding, NearestNeighboursOnTheMapShareTheirCluster) {
  for (const std::size_t n : {12U, 40U, 120U}) {
    const Embedding map = ComputeEmbedding(Between(TwoClusters(n, 3)));
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(Nearest(map.places, i) % 2, i % 2) << i << " of " << n;
  }
}

TEST(Embedding, ClustersStandApart) {
  const std::size_t n = 120;
  const Embedding map = ComputeEmbedding(Between(TwoClusters(n, 3)));
  double within = 0, between = HUGE_VAL;
  for (std::size_t i = 0; i < n; ++i) {
    within = std::max(within, Apart(map.places, i, Nearest(map.places, i)));
    for (std::size_t j = 0; j < i; ++j)
      if (i % 2 != j % 2) between = std::min(between, Apart(map.places, i, j));
  }
  EXPECT_GT(between, 2 * within);
}

TEST(Embedding, RowsHaveThePerplexityThatWasAskedFor) {
  const Distances distances = Between(TwoClusters(100, 3));
  for (const double perplexity : {1.5, 5.0, 30.0, 60.0, 95.0})
    for (std::size_t i = 0; i < distances.n; ++i)
      ASSERT_NEAR(ComputePerplexity(ComputeAffinityRow(distances, i, perplexity)), perplexity, 1e-3) << i;
}

TEST(Embedding, APointFarFromAllOthersHasThePerplexityToo) {
  Points points = TwoClusters(20, 0);
  for (double& value : points[0]) value = 1e5;
  const std::vector<double> row = ComputeAffinityRow(Between(points), 0, 5);
  EXPECT_NEAR(ComputePerplexity(row), 5, 1e-3);
}

TEST(Embedding, TheUnitOfTheDistancesDoesNotMatter) {
  Distances distances = Between(TwoClusters(30, 3));
  const std::vector<double> row = ComputeAffinityRow(distances, 3, 7);
  for (double& squared : distances.squared) squared *= 1e12;
  const std::vector<double> same = ComputeAffinityRow(distances, 3, 7);
  for (std::size_t j = 0; j < row.size(); ++j) EXPECT_NEAR(row[j], same[j], 1e-8);
}

TEST(Embedding, JointNeighboursAreASymmetricDistribution) {
  const std::size_t n = 30;
  const std::vector<double> joint = ComputeJointAffinities(Between(TwoClusters(n, 3)), 8);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_EQ(joint[i * n + i], 0);
    for (std::size_t j = 0; j < n; ++j) {
      EXPECT_EQ(joint[i * n + j], joint[j * n + i]);
      sum += joint[i * n + j];
    }
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(Embedding, TheGradientIsTheSlopeOfTheDivergence) {
  const std::size_t n = 15;
  const std::vector<double> joint = ComputeJointAffinities(Between(TwoClusters(n, 3)), 4);
  std::mt19937_64 bits(11);
  std::normal_distribution<double> normal;
  Places places{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) places.x[i] = normal(bits), places.y[i] = normal(bits);
  const Places gradient = ComputeDivergenceGradient(joint, places);
  constexpr double kStep = 1e-5;
  const auto slope = [&](double& coordinate) {
    const double at = coordinate;
    coordinate = at + kStep;
    const double above = ComputeDivergence(joint, places);
    coordinate = at - kStep;
    const double below = ComputeDivergence(joint, places);
    coordinate = at;
    return (above - below) / (2 * kStep);
  };
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(gradient.x[i], slope(places.x[i]), 1e-8) << i;
    EXPECT_NEAR(gradient.y[i], slope(places.y[i]), 1e-8) << i;
  }
}

TEST(Embedding, TheDivergenceIsThatOfTheDefinition) {
  // Three places at squared distances 1, 1 and 2: nearness 1/2, 1/2 and 1/3, each both ways.
  const Places places{{0, 1, 0}, {0, 0, 1}};
  const std::vector<double> joint = {0, 0.2, 0.2, 0.2, 0, 0.1, 0.2, 0.1, 0};
  const double sum = 2 * (0.5 + 0.5 + 1.0 / 3);
  const double expected = 4 * 0.2 * std::log(0.2 / (0.5 / sum)) + 2 * 0.1 * std::log(0.1 / (1.0 / 3 / sum));
  EXPECT_NEAR(ComputeDivergence(joint, places), expected, 1e-14);
}

TEST(Embedding, TheMapIsBetterThanTheFirstTwoDimensions) {
  const Points points = TwoClusters(60, 1);
  const Distances distances = Between(points);
  const Embedding map = ComputeEmbedding(distances);
  Places plain;
  for (const std::vector<double>& point : points) plain.x.push_back(point[0]), plain.y.push_back(point[1]);
  const std::vector<double> joint = ComputeJointAffinities(distances, map.perplexity);
  EXPECT_LT(map.divergence, 0.7 * ComputeDivergence(joint, plain));
  EXPECT_EQ(map.divergence, ComputeDivergence(joint, map.places));
}

TEST(Embedding, TheSameDistancesGiveTheSamePlaces) {
  const Distances distances = Between(TwoClusters(50, 2));
  const Embedding first = ComputeEmbedding(distances), again = ComputeEmbedding(distances);
  EXPECT_EQ(first.places.x, again.places.x);
  EXPECT_EQ(first.places.y, again.places.y);
  EXPECT_EQ(first.divergence, again.divergence);
}

TEST(Embedding, TheMeanOfThePlacesIsZero) {
  const Embedding map = ComputeEmbedding(Between(TwoClusters(50, 2)));
  double x = 0, y = 0;
  for (std::size_t i = 0; i < 50; ++i) x += map.places.x[i], y += map.places.y[i];
  EXPECT_NEAR(x, 0, 1e-9);
  EXPECT_NEAR(y, 0, 1e-9);
}

TEST(Embedding, FewPointsHaveAMapToo) {
  const Embedding none = ComputeEmbedding({});
  EXPECT_TRUE(none.places.x.empty());
  const Embedding one = ComputeEmbedding(Between(TwoClusters(1, 3)));
  EXPECT_EQ(one.places.x, std::vector<double>{0});
  EXPECT_EQ(one.places.y, std::vector<double>{0});
  for (std::size_t n = 2; n < 8; ++n) {
    const Embedding map = ComputeEmbedding(Between(TwoClusters(n, 3)));
    EXPECT_EQ(map.places.x.size(), n);
    EXPECT_TRUE(Finite(map)) << n;
  }
}

TEST(Embedding, PerplexityIsAThirdOfTheOthersAtMost) {
  EXPECT_EQ(ChoosePerplexity(1000, 30), 30);
  EXPECT_EQ(ChoosePerplexity(91, 30), 30);
  EXPECT_EQ(ChoosePerplexity(31, 30), 10);
  EXPECT_EQ(ChoosePerplexity(2, 30), 1);
  EXPECT_EQ(ComputeEmbedding(Between(TwoClusters(31, 3))).perplexity, 10);
}

TEST(Embedding, PointsThatAreAlikeLieTogether) {
  Points points = TwoClusters(20, 3);
  for (std::size_t i = 0; i < 20; ++i) points.push_back(points[i]);
  const Embedding map = ComputeEmbedding(Between(points));
  ASSERT_TRUE(Finite(map));
  for (std::size_t i = 0; i < 20; ++i) {
    double all = 0;
    for (std::size_t j = 0; j < 40; ++j) all += Apart(map.places, i, j) / 39;
    EXPECT_LT(Apart(map.places, i, i + 20), 0.2 * all) << i;
  }
}

TEST(Embedding, PointsThatAreAllAlikeLieAtZero) {
  const Embedding map = ComputeEmbedding(Between(Points(40, std::vector<double>(20, 0.5))));
  ASSERT_TRUE(Finite(map));
  EXPECT_THAT(map.places.x, Each(0));
  EXPECT_NEAR(map.divergence, 0, 1e-12);
}

TEST(Embedding, MoreNearestPointsThanThePerplexityShareAlike) {
  const std::vector<double> row = ComputeAffinityRow(Between(Points(10, {0.25})), 4, 3);
  for (std::size_t j = 0; j < 10; ++j) EXPECT_NEAR(row[j], j == 4 ? 0 : 1.0 / 9, 1e-12);
}

}  // namespace
}  // namespace retort::orchestrator::plot
