// Which examples a split holds: ranges of the set or of one of its parts, or lists of examples: an index from 0, or the
// name of an image, a line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/datasets/example_store.h"
#include "storage/files/env.h"

namespace retort::storage {

// One split: either positions [range.begin, range.end) in the permutation of the examples [first, first +
// count) that `shuffle` fixes, or, when `listed` is not empty, those indices in that order.
struct SplitLocation {
  std::int64_t first = 0, count = 0;
  IndexRange range;
  std::vector<std::int64_t> listed;
};
struct SplitLocations {
  SplitLocation train, public_split, test, validation;
};
// Returns the order of n examples in a split: position i holds number SplitOrder(n, shuffle)[i] of them. shuffle 0 =
// file order; otherwise DrawPermutation(n) of the stream (shuffle, Purpose::split): independent of the records.
[[nodiscard]] std::vector<std::int64_t> SplitOrder(std::int64_t n, std::uint64_t shuffle);
// Returns the index in the set of each example of a split, in its order.
[[nodiscard]] std::vector<std::int64_t> ListIndices(const SplitLocation& place, std::uint64_t shuffle);
// Finds the splits of a set whose DataSpec was inspected. Public examples of its sensitive classes are placed behind
// the private ones. Errors: environment for a missing list; usage, naming the list and the line, for what is no
// example, and for examples in two splits.
[[nodiscard]] Result<SplitLocations> LocateSplits(Env& env, const DataSpec& data, const ExampleStore& store);

// Reads a list of examples in the order of the file at `path`. `#` begins a comment. A name is one relative to the set,
// with or without the folders that all names share, or its last part alone where no other image has that. Errors:
// environment when the file is missing; usage, naming the list and the line.
[[nodiscard]] Result<std::vector<std::int64_t>> ReadSplitList(Env& env, const std::string& path,
                                                              const ExampleStore& store);
// Counts the examples that a list names, without a set to look them up in. Errors: those of ReadSplitList that concern
// the file.
[[nodiscard]] Result<std::int64_t> CountListed(Env& env, const std::string& path);
// SHA-256 over the indices, 8 bytes each, little endian; 64 hex digits.
[[nodiscard]] std::string ComputeIndexDigest(const std::vector<std::int64_t>& indices);

}  // namespace retort::storage
