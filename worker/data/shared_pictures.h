// Pictures that are public and private at once.
#pragma once

#include <cstdint>
#include <optional>

#include "experiments/spec/status.h"
#include "worker/data/dataset.h"

namespace retort::worker {

// A row of each of two sets that show the same.
struct SharedPicture {
  std::int64_t a = 0, b = 0;
};

// The first picture of `b`, by its row, that equals one of `a`, value by value; nothing where there is none. Pictures of
// NaN, which are not there, equal none. Every picture of both is read once.
[[nodiscard]] std::optional<SharedPicture> FirstShared(const Examples& a, const Examples& b);

// Error: environment, naming a picture that the private and the public split both hold: what is claimed of a private
// example takes public ones to be somebody else's.
[[nodiscard]] Status RequireApart(const Dataset& data);
// The same of the private and the test split: what is measured on a private example is of that person.
[[nodiscard]] Status RequireTestApart(const Dataset& data);

}  // namespace retort::worker
