// How a member of an ensemble votes: in whole numbers, so that the sensitivity of a histogram is a fact of
// integers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace retort::worker::release {

// logits [..., classes] -> i64 [...]: the class of the largest, of equal ones the first.
[[nodiscard]] at::Tensor FirstLargest(const at::Tensor& logits);

// logits [..., classes] -> i64 of the same shape. grain 1: one-hot of the first largest; grain G > 1:
// floor(G softmax). Every row is >= 0 and adds up to at most `grain`, whatever the logits and however the
// softmax rounded; two such rows therefore differ by at most sqrt(2) G in L2, one from zero by G.
[[nodiscard]] at::Tensor VoteShares(const at::Tensor& logits, std::int64_t grain);

// floor(G p) of what claims to be probabilities p [..., classes] (any numbers, NaN as 0), with the property
// above.
[[nodiscard]] at::Tensor WholeShares(const at::Tensor& probabilities, std::int64_t grain);

}  // namespace retort::worker::release
