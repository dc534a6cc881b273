// The tree-structured Parzen estimator of Bergstra et al. (2011, "Algorithms for Hyper-Parameter Optimization", section
// 4): each dimension by itself, from the density of good points over that of the others.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>

#include "experiments/sweep/search_space.h"

namespace retort {

// A point that was tried or, in the same round, will be.
struct TriedPoint {
  SearchPoint point;
  std::optional<double> score;  // of one that has it: higher is better; the others count among the bad ones
};

// Returns suggestion `index`, a function of the spec and of `tried` alone, which is none of `taken`. REQUIRES: the
// space holds one more point than `taken`.
[[nodiscard]] SearchPoint SuggestByTpe(const SearchSpec& spec, std::size_t index, std::span<const TriedPoint> tried,
                                       const std::set<SearchPoint>& taken);

}  // namespace retort
