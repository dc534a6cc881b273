// The lattice on which rows of real numbers are bounded, added up and noised. On it sums are exact in any order, and so
// can noise be: the last digits of a release do not reveal what the noise was added to.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/base/status.h"

namespace retort::worker::release {

struct Lattice {
  double step = 1;     // g, a power of two: values are whole multiples of it
  double longest = 0;  // K, a whole number: a row of norm K steps has norm bound at most
  double scale = 0;    // the noise's standard deviation, in steps

  // norm_bound C > 0 of a row and noise_std > 0 of a coordinate, in one unit; the step is
  // privacy::ComputeLatticeStep's. Error: usage, when the noise is larger or smaller than what can be drawn exactly.
  [[nodiscard]] static Result<Lattice> For(double norm_bound, double noise_std);
  // The length, in steps, that a row of d coordinates is shortened to before it is rounded: K - sqrt(d) / 2 - 1, which
  // no rounding takes beyond K, and at least K / 2, which by chance none does.
  [[nodiscard]] double ComputeTarget(std::int64_t coordinates) const;
  // steps f64 -> f32, in the unit of the norm bound.
  [[nodiscard]] at::Tensor ToFloat(const at::Tensor& steps) const;
};

// steps f64 [..., coordinates], rounded to whole numbers. A row that is not finite, or longer than `longest`, becomes
// zeros. This is the last step before a row is added to others or to noise. `whole`: all rows are one row.
[[nodiscard]] at::Tensor RoundAndBound(const at::Tensor& steps, double longest, bool whole = false);

// The same for rows that are bounded, rounded and added up in one pass: sums of whole numbers in doubles.

// rows f32 [examples, d] -> f64 [examples] on the same device: what each row is multiplied by before it is rounded, so
// that it is cut to the norm `lattice.longest` steps. 0 where the row is not finite, or longer than that once rounded.
[[nodiscard]] at::Tensor ClipFactors(const at::Tensor& rows, const Lattice& lattice);

// f64 [examples, d] on the same device: every row times its factor, rounded; zeros where the factor is 0, whatever the
// row holds.
[[nodiscard]] at::Tensor RoundRows(const at::Tensor& rows, const at::Tensor& factors);

// sum f64 [d] on the CPU, in steps: adds every row times its factor, rounded. A factor of 0 leaves the row out.
void AddRounded(const at::Tensor& rows, const at::Tensor& factors, at::Tensor& sum);

// The same of rows that are outer products left_i [a] times right_i [b], without making them: both factors are rounded,
// so that products are whole numbers, and |left_i| |right_i| is cut. left f32 [examples, a], right f32 [examples, b],
// sum f64 [a b].
void AddRoundedOuter(const at::Tensor& left, const at::Tensor& right, const Lattice& lattice, at::Tensor& sum);

}  // namespace retort::worker::release
