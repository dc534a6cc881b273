#include "worker/methods/private_queries.h"

#include <ATen/ops/tensor.h>

#include <vector>

#include "experiments/spec/rng_stream.h"
#include "experiments/spec/status.h"

namespace retort::worker {

at::Tensor PrivatePlaces(const TrialSpec& spec, std::int64_t examples, std::int64_t step) {
  RETORT_CHECK(spec.batch >= 1 && spec.batch <= examples);
  const std::int64_t per_pass = examples / spec.batch;  // the rest of an order is left out
  const RngStream order(spec.seed, Purpose::batches, static_cast<std::uint64_t>(step / per_pass));
  const std::vector<std::int64_t> places = Permutation(examples, order);
  const auto first = places.begin() + step % per_pass * spec.batch;
  return at::tensor(std::vector<std::int64_t>(first, first + spec.batch), at::kLong);
}

}  // namespace retort::worker
