// What the answers of Confident-GNMax cost on the votes at hand, as a Renyi divergence of one order (Papernot et al.
// 2018), and a bound on how fast that changes with the votes. Both are as private as the votes: what may leave is the
// outcome of a test with noise (SmoothGaussianRdp), which costs something of its own. PROOFS.md has the theorems.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/base/status.h"

namespace retort::privacy {

// Of a mechanism that answers one of several classes by Gaussian noise of deviation `noise` on whole counts, rounded to
// whole numbers, of equal ones the first. Natural logarithm of a bound on the probability that it answers another class
// than the one with the most votes, which leads by `gap`: proposition 7 there, with every other class at the gap, and a
// vote less for rounding and ties. At most log(1) = 0.
[[nodiscard]] double ComputeLogMiss(std::int64_t gap, std::int64_t classes, double noise);

// RDP of order `order` > 1 of such an answer, where one member changes its vote and another class is answered with
// probability at most e^log_miss: the lesser of theorem 6, at the orders of proposition 10, and order / noise^2.
// Rounded up. Infinity for arguments out of range.
[[nodiscard]] double ComputeNoisyMaxRdp(double log_miss, double noise, double order);

// The least that is known of a query's votes: the largest count, and by how much it leads. 0 <= gap <= largest.
struct Consensus {
  std::int64_t largest = 0, gap = 0;
};

struct VoteCostRule {
  std::int64_t members = 0;    // 2 to kMaxCostMembers
  std::int64_t classes = 0;    // at least 2
  std::int64_t threshold = 0;  // in votes, as confident_votes.h holds it
  double threshold_noise = 0;  // both > 0, in votes
  double vote_noise = 0;
  double order = 0;  // > 1
};
inline constexpr std::int64_t kMaxCostMembers = 2000;

// The cost of one query by its consensus, for all that there are. Another vote of one member moves `largest` by 1 at
// most, and `gap` by 2.
class VoteCosts {
 public:
  // Error: usage, outside the ranges above.
  [[nodiscard]] static Result<VoteCosts> Create(const VoteCostRule& rule);

  // RDP of threshold and answer together, of one query: never below it. Never rises with the gap.
  [[nodiscard]] double Find(const Consensus& query) const;
  // That of queries whose answers are independent given the votes, all of them asked, whatever the rest is answered.
  [[nodiscard]] double Sum(std::span<const Consensus> queries) const;
  // A bound on how much Sum changes where one member votes otherwise, of these votes and, shrunk by e^(-smoothness) a
  // member, of all others: a smooth sensitivity (Nissim, Raskhodnikova and Smith 2007), which one member changes by the
  // factor e^smoothness at most. At least `floor`.
  [[nodiscard]] double SmoothSensitivity(std::span<const Consensus> queries, double smoothness, double floor) const;

 private:
  explicit VoteCosts(const VoteCostRule& rule) : rule_(rule), side_(rule.members + 1) {}
  [[nodiscard]] std::size_t Place(std::int64_t largest, std::int64_t gap) const {
    return static_cast<std::size_t>(largest * side_ + gap);
  }
  // Of every place the largest value within 1 of `largest` and 2 of `gap`.
  [[nodiscard]] std::vector<double> Spread(const std::vector<double>& table) const;

  VoteCostRule rule_;
  std::int64_t side_;
  std::vector<double> costs_;  // [largest][gap]
};

// RDP of order `order` > 1 of f + s noise Z, Z a standard Gaussian, where a neighbour moves f by `moved` times the
// smaller of the two s, and s by the factor e^smoothness at most: the mechanism of theorem 23 there, bounded exactly.
// Infinity at orders that are too large for the smoothness, and for arguments out of range.
[[nodiscard]] double SmoothGaussianRdp(double order, double smoothness, double noise, double moved);

}  // namespace retort::privacy
