// Private images as queries (DPDFD section 4.4, direct training): the student sees them as they are, and no claim
// about them has a bound.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/spec/trial_spec.h"

namespace retort::worker {

// Where the private images of step `step` stand, i64 [spec.batch]: the examples in an order that the seed fixes, and
// in another one each time they have all been asked about. `examples` >= spec.batch.
[[nodiscard]] at::Tensor PrivatePlaces(const TrialSpec& spec, std::int64_t examples, std::int64_t step);

}  // namespace retort::worker
