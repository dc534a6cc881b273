// Rows of real numbers, bounded, rounded to a lattice and added up in one pass: sums of whole numbers in doubles, exact in
// any order.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/release/lattice.h"

namespace retort::worker::release {

// rows f32 [examples, d] -> f64 [examples] on the same device: what each row is multiplied by before it is rounded, so that
// it is cut to the norm `lattice.longest` steps. 0 where the row is not finite, or longer than that once rounded.
[[nodiscard]] at::Tensor ClipFactors(const at::Tensor& rows, const Lattice& lattice);

// f64 [examples, d] on the same device: every row times its factor, rounded; zeros where the factor is 0, whatever the row
// holds.
[[nodiscard]] at::Tensor RoundedRows(const at::Tensor& rows, const at::Tensor& factors);

// sum f64 [d] on the CPU, in steps: adds every row times its factor, rounded. A factor of 0 leaves the row out.
void AddRounded(const at::Tensor& rows, const at::Tensor& factors, at::Tensor& sum);

// The same of rows that are outer products left_i [a] times right_i [b], without making them: both factors are rounded, so
// that products are whole numbers, and |left_i| |right_i| is cut. left f32 [examples, a], right f32 [examples, b], sum
// f64 [a b].
void AddRoundedOuter(const at::Tensor& left, const at::Tensor& right, const Lattice& lattice, at::Tensor& sum);

}  // namespace retort::worker::release
