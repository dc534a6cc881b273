// The rungs of a search: many suggestions are tried small, and the best of each rung again on the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "experiments/sweep/search_points.h"

namespace retort {

// The first rung's points, `spec.trials` of them at random; a larger number begins with the same ones.
[[nodiscard]] std::vector<SearchPoint> DrawFirstRung(const SearchSpec& spec);

// successive-halving [Jamieson and Talwalkar 2016]: the best of the last rung, on the next one. REQUIRES: all have
// ended.
[[nodiscard]] std::vector<SearchPoint> ClimbRung(const SearchSpec& spec, const std::vector<SearchPoint>& points,
                                                 const std::vector<SearchOutcome>& outcomes);

// asha [Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning", algorithm 2]. In both functions the
// last value of a point is its rung, and what has no score stays behind, yet counts.

// Returns the index of the suggestion that goes on to the next rung: of the highest of `rungs` that has one, the best
// that ranks in the first `reduction`-th of those that have ended there and is not on the next rung yet; of equal ones
// the first. Nothing: none now.
[[nodiscard]] std::optional<std::size_t> FindPromotion(std::int64_t reduction, const std::vector<KeyValue>& rungs,
                                                       std::span<const SearchPoint> points,
                                                       std::span<const SearchOutcome> outcomes);
// Returns what a free slot tries: the suggestion that goes on, else the first of `first_rung` that follows all that
// were started; nothing: none now. Only the order of `points` and what has ended of them decide.
[[nodiscard]] std::optional<SearchPoint> SuggestNext(const SearchSpec& spec, const std::vector<SearchPoint>& first_rung,
                                                     const std::vector<SearchPoint>& points,
                                                     const std::vector<SearchOutcome>& outcomes);

}  // namespace retort
