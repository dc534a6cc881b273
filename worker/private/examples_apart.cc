#include "worker/private/examples_apart.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>

#include "experiments/spec/status.h"

namespace retort::worker {

bool ExamplesStayApart(const std::function<at::Tensor(const at::Tensor&)>& forward,
                       const at::Tensor& images) {
  RETORT_CHECK(images.size(0) == 3);
  const at::NoGradGuard no_grad;
  const at::Tensor one = forward(images.narrow(0, 0, 2));
  const at::Tensor other = forward(at::cat({images.narrow(0, 0, 1), images.narrow(0, 2, 1)}));
  return at::equal(one[0], other[0]);
}

}  // namespace retort::worker
