// Computes a map of points in the plane on which close points stay close: t-SNE, exact (van der Maaten and Hinton 2008,
// "Visualizing Data using t-SNE", JMLR 9). Every iteration goes over all pairs of points.
#pragma once

#include <cstddef>
#include <vector>

namespace retort::orchestrator {

// Squared Euclidean distances between n points, in any unit.
struct Distances {
  std::size_t n = 0;
  std::vector<double> squared;  // [n, n]: symmetric, finite, at least 0, 0 on the diagonal
  [[nodiscard]] const double* Row(std::size_t i) const { return squared.data() + i * n; }
};

// Where n points stand on the map, in its own unit.
struct Places {
  std::vector<double> x, y;  // [n]
};

struct Embedding {
  Places places;          // their mean is 0
  double perplexity = 1;  // that the neighbourhoods were given
  double divergence = 0;  // Divergence of the places, at least 0
};

// What n points are given where `asked` (at least 1) is asked for: no more than (n - 1) / 3, no less than 1.
[[nodiscard]] double ChoosePerplexity(std::size_t n, double asked);

// Equation 1: how likely point i takes each other point for its neighbour, [n], sum 1, 0 for itself. The
// width of the Gaussian is found by bisection, so that the row's perplexity is `perplexity` (1 to n - 1);
// where more points than that are the nearest ones at one distance, they share alike. i < n, n at least 2.
[[nodiscard]] std::vector<double> ComputeAffinityRow(const Distances& distances, std::size_t i, double perplexity);
// exp of the row's entropy in nats: how many neighbours it has, as it were.
[[nodiscard]] double ComputePerplexity(const std::vector<double>& row);
// Both rows of a pair, averaged: [n, n], symmetric, sum 1, 0 on the diagonal. n at least 2.
[[nodiscard]] std::vector<double> ComputeJointAffinities(const Distances& distances, double perplexity);

// Equation 2: the Kullback-Leibler divergence, in nats, of the map's neighbours (Student t, one degree of
// freedom) from `joint` [n, n].
[[nodiscard]] double ComputeDivergence(const std::vector<double>& joint, const Places& places);
// Equation 5: its derivative by every coordinate.
[[nodiscard]] Places ComputeDivergenceGradient(const std::vector<double>& joint, const Places& places);

// 1,000 steps from the first two principal components, the first 250 with `joint` exaggerated twelvefold. The
// same places for the same distances. About 3 seconds for 1,000 points.
[[nodiscard]] Embedding ComputeEmbedding(const Distances& distances, double perplexity = 30);

}  // namespace retort::orchestrator
