// Whether the splits of a data set share an image: by what it shows, not by its index.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "worker/data/dataset.h"

namespace retort::worker {

// Rows of two sets that hold the same image.
struct SharedRows {
  std::int64_t a = 0, b = 0;
};

// The first image of `b`, by its row, that equals one of `a`, value by value; nothing where there is none. Missing
// images, which are NaN, equal none. Every image of both is read once.
[[nodiscard]] std::optional<SharedRows> FindFirstShared(const Examples& a, const Examples& b);

// Rows of `a`, rising, whose image is in `b`, too, by a hash of its values of 64 bits. Missing images are in no
// set.
[[nodiscard]] std::vector<std::int64_t> ListShared(const Examples& a, const Examples& b);

// Error: environment, naming an image that the private and the public split both hold: claims about a
// private example assume that public ones belong to other people.
[[nodiscard]] Status RequireApart(const Dataset& data);
// The same for the private and the test split: a measurement on a private example is about that person.
[[nodiscard]] Status RequireTestApart(const Dataset& data);

// Numbers of the examples of each split in its set, in the split's order; disjoint.
struct SplitRows {
  std::vector<std::int64_t> train, public_split, test, validation = {};
};

// Whether no number is in both.
[[nodiscard]] bool AreApart(std::vector<std::int64_t> a, std::vector<std::int64_t> b);

// Whether the public or the test split holds a private image, of the training or the validation part, byte for byte,
// whatever its label. `image`: the bytes of that number in the set, empty where there is none; called from several
// threads.
[[nodiscard]] bool SplitsShare(const SplitRows& rows, const std::function<std::string_view(std::int64_t)>& image);

}  // namespace retort::worker
