#include "storage/datasets/clients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace retort::storage {
namespace {

std::vector<std::int64_t> Labels(std::int64_t n, std::int64_t classes) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < n; ++i) labels.push_back(i % classes);
  return labels;
}

TEST(DirichletClients, HoldEveryExampleOnceAndNoneIsEmpty) {
  for (const double concentration : {0.001, 0.1, 1.0, 100.0}) {
    for (const std::int64_t clients : {1, 7, 50}) {
      const auto shards = DrawDirichletClients(Labels(50, 5), 5, clients, concentration, 3);
      ASSERT_EQ(static_cast<std::int64_t>(shards.size()), clients);
      std::set<std::int64_t> seen;
      for (const auto& shard : shards) {
        EXPECT_FALSE(shard.empty()) << concentration << " " << clients;
        EXPECT_TRUE(std::is_sorted(shard.begin(), shard.end()));
        for (const std::int64_t index : shard) EXPECT_TRUE(seen.insert(index).second) << index;
      }
      EXPECT_EQ(seen.size(), 50U);
    }
  }
}

TEST(DirichletClients, FollowFromTheSeed) {
  const auto labels = Labels(1000, 10);
  EXPECT_EQ(DrawDirichletClients(labels, 10, 8, 0.5, 1), DrawDirichletClients(labels, 10, 8, 0.5, 1));
  EXPECT_NE(DrawDirichletClients(labels, 10, 8, 0.5, 1), DrawDirichletClients(labels, 10, 8, 0.5, 2));
}

TEST(DirichletClients, MixClassesMoreAtLargerConcentrations) {
  const auto classes_of_first = [](double concentration) {
    std::set<std::int64_t> found;
    const auto clients = DrawDirichletClients(Labels(10000, 10), 10, 10, concentration, 5);
    for (const std::int64_t i : clients[0]) found.insert(i % 10);
    return found.size();
  };
  EXPECT_LE(classes_of_first(0.01), 4U);
  EXPECT_EQ(classes_of_first(100), 10U);
}

TEST(BalancedClients, HoldEveryExampleOnceAndNoneHasFewerThanTheLeast) {
  for (const double concentration : {0.1, 0.5, 100.0}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto made = MakeBalancedClients(Labels(1000, 10), 10, 5, concentration, seed);
      ASSERT_TRUE(made.ok()) << made.status().message();
      std::set<std::int64_t> seen;
      for (const auto& client : *made) {
        EXPECT_GE(client.size(), 10U);
        EXPECT_TRUE(std::is_sorted(client.begin(), client.end()));
        for (const std::int64_t index : client) EXPECT_TRUE(seen.insert(index).second) << index;
      }
      EXPECT_EQ(seen.size(), 1000U);
    }
  }
}

// Who has the mean takes nothing of a further class: at the moment it passes the mean, it can pass it by one class.
TEST(BalancedClients, NobodyHasMuchMoreThanTheMean) {
  const auto clients = MakeBalancedClients(Labels(1000, 10), 10, 5, 0.3, 4).value();
  for (const auto& client : clients) EXPECT_LT(client.size(), 200U + 100U);
}

TEST(BalancedClients, FollowFromTheSeedAndTheLabels) {
  auto labels = Labels(1000, 10);
  const auto one = MakeBalancedClients(labels, 10, 5, 0.5, 1).value();
  EXPECT_EQ(MakeBalancedClients(labels, 10, 5, 0.5, 1).value(), one);
  EXPECT_NE(MakeBalancedClients(labels, 10, 5, 0.5, 2).value(), one);
  labels[17] = (labels[17] + 1) % 10;
  const auto other = MakeBalancedClients(labels, 10, 5, 0.5, 1).value();
  std::int64_t moved = 0;  // other examples than the relabelled one that change hands
  for (std::size_t k = 0; k < 5; ++k) {
    for (const std::int64_t i : one[k])
      moved += i != 17 && !std::binary_search(other[k].begin(), other[k].end(), i) ? 1 : 0;
  }
  EXPECT_GT(moved, 0) << "one label decides about others' examples";
}

TEST(BalancedClients, TooManyClientsForTheExamplesAreAnError) {
  EXPECT_EQ(MakeBalancedClients(Labels(99, 3), 3, 10, 0.5, 1).status().code(), StatusCode::usage);
}

TEST(EqualClients, AreDisjointAndOfOneSize) {
  for (const std::int64_t clients : {1, 3, 50}) {
    const auto shares = DrawEqualClients(50, clients, 4);
    std::set<std::int64_t> seen;
    for (const auto& share : shares) {
      EXPECT_TRUE(std::is_sorted(share.begin(), share.end()));
      EXPECT_GE(static_cast<std::int64_t>(share.size()), 50 / clients);
      EXPECT_LE(static_cast<std::int64_t>(share.size()), (50 + clients - 1) / clients);
      for (const std::int64_t index : share) EXPECT_TRUE(seen.insert(index).second) << index;
    }
    EXPECT_EQ(seen.size(), 50U);
  }
  EXPECT_EQ(DrawEqualClients(50, 3, 4), DrawEqualClients(50, 3, 4));
  EXPECT_NE(DrawEqualClients(50, 3, 4), DrawEqualClients(50, 3, 5));
}

// A share of Dirichlet(a, ..., a) over m has mean 1/m and variance (m - 1) / (m^2 (m a + 1)).
TEST(DirichletShares, HaveTheMeanAndVarianceOfTheirDistribution) {
  constexpr std::int64_t kClients = 5, kDraws = 20000;
  for (const double a : {0.05, 0.5, 1.0, 8.0}) {
    double sum = 0, square = 0;
    for (std::int64_t i = 0; i < kDraws; ++i) {
      const auto shares =
          DrawDirichletShares(kClients, a, RngStream(11, Purpose::shards, static_cast<std::uint64_t>(i)));
      double whole = 0;
      for (const double share : shares) whole += share;
      ASSERT_NEAR(whole, 1, 1e-12);
      sum += shares[2];
      square += shares[2] * shares[2];
    }
    const double mean = sum / kDraws, variance = square / kDraws - mean * mean;
    const double m = kClients, expected = (m - 1) / (m * m * (m * a + 1));
    EXPECT_NEAR(mean, 1 / m, 5 * std::sqrt(expected / kDraws)) << a;
    EXPECT_NEAR(variance / expected, 1, 0.06) << a;
  }
}

}  // namespace
}  // namespace retort::storage
