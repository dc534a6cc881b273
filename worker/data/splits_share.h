// Whether the splits of a data set are apart by what their pictures show, and not by number alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace retort::worker {

// Numbers of the examples of each split in its set, in the split's order; disjoint.
struct SplitRows {
  std::vector<std::int64_t> train, public_split, test;
};

// Whether the public or the test split holds a picture of the private one, byte for byte, whatever its label.
// `picture`: the bytes of that number in the set, empty where there is none; asked from several threads.
[[nodiscard]] bool SplitsShare(const SplitRows& rows, const std::function<std::string_view(std::int64_t)>& picture);

}  // namespace retort::worker
