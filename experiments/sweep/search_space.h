// Points of a search space, and those that follow from a seed alone. Deterministic: the same spec gives the same
// points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "experiments/sweep/search_spec.h"

namespace retort {

// A value of each dimension, in the order of SearchSpec::space.
using SearchPoint = std::vector<KeyValue>;

// How many points there are; infinity where a dimension is of real numbers.
[[nodiscard]] double CountPoints(const SearchSpec& spec);

// The value at `unit` in [0, 1) of a dimension's scale. Real numbers are rounded to about a ten thousandth of the
// range, so that files and tables hold them as they are.
[[nodiscard]] KeyValue ComputeValueAt(const SearchDimension& dimension, double unit);
// The place in [0, 1] of a value on the scale of a dimension without choices.
[[nodiscard]] double ComputeUnit(const SearchDimension& dimension, const KeyValue& value);
// The index of a value among the choices; their number where it is none of them.
[[nodiscard]] std::size_t FindChoice(const SearchDimension& dimension, const KeyValue& value);
// Whether the space holds the point.
[[nodiscard]] bool ContainsPoint(const SearchSpec& spec, const SearchPoint& point);

// The stream of suggestion `index`.
[[nodiscard]] RngStream MakePointStream(const SearchSpec& spec, std::size_t index);
// A point at random that is none of `taken`. REQUIRES: there is one.
[[nodiscard]] SearchPoint DrawPoint(const SearchSpec& spec, std::size_t index, const std::set<SearchPoint>& taken);
// The first `count` points at random.
[[nodiscard]] std::vector<SearchPoint> DrawPoints(const SearchSpec& spec, std::size_t count);
// `spec.trials` points: in every dimension each of as many equal parts of its scale holds one of them.
[[nodiscard]] std::vector<SearchPoint> DrawLatinHypercube(const SearchSpec& spec);

}  // namespace retort
