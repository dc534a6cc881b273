// The lattice on which real numbers are bounded, added up and noised. On it sums are exact, whatever their order, and the
// noise can be: no last digit tells what it was added to.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/status.h"

namespace retort::worker::release {

struct Lattice {
  double step = 1;     // g, a power of two: values are whole multiples of it
  double longest = 0;  // K, a whole number: a row of norm K steps has norm bound at most
  double scale = 0;    // the noise's standard deviation, in steps

  // norm_bound C > 0 of a row and noise_std > 0 of a coordinate, in one unit; the step is privacy::LatticeStep's. Error:
  // usage, when the noise is larger or smaller than what can be drawn exactly.
  [[nodiscard]] static Result<Lattice> For(double norm_bound, double noise_std);
  // The length, in steps, that a row of d coordinates is shortened to before it is rounded: K - sqrt(d) / 2 - 1, which no
  // rounding takes beyond K, and at least K / 2, which by chance none does.
  [[nodiscard]] double TargetOf(std::int64_t coordinates) const;
  // steps f64 -> f32, in the unit of the norm bound.
  [[nodiscard]] at::Tensor ToFloat(const at::Tensor& steps) const;
};

// steps f64 [..., coordinates], rounded to whole numbers. A row that is not finite, or longer than `longest`, becomes zeros: the
// last thing that happens to a row before it meets others or noise. `whole`: all rows are one row.
[[nodiscard]] at::Tensor RoundAndBound(const at::Tensor& steps, double longest, bool whole = false);

}  // namespace retort::worker::release
