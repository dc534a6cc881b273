// Resampling step by step is what ATen's own kernels compute, and so are its gradients.
#include "worker/models/resampling.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "worker/tensors/autograd.h"

namespace retort::worker {
namespace {

struct Both {
  at::Tensor values, gradient;
};

// What `op` makes of f64 numbers of that height and width, and the gradient of a sum of all with weights of
// its own.
template <typename Op>
Both Of(std::int64_t height, std::int64_t width, const Op& op) {
  at::manual_seed(height * 100 + width);
  const at::Tensor leaf = at::randn({2, 3, height, width}, at::kDouble).requires_grad_(true);
  const at::Tensor values = op(leaf);
  const at::Tensor weights = at::arange(values.numel(), at::kDouble).add(1).sin().view(values.sizes());
  return {values.detach(), ComputeVectorJacobian({values}, {weights}, {leaf})[0]};
}

void ExpectSame(const Both& got, const Both& want, const std::string& what) {
  ASSERT_EQ(got.values.sizes(), want.values.sizes()) << what;
  EXPECT_TRUE(at::allclose(got.values, want.values, 1e-12, 1e-12)) << what;
  EXPECT_TRUE(at::allclose(got.gradient, want.gradient, 1e-12, 1e-12)) << what;
}

TEST(Resampling, StepByStepIsWhatTheKernelsCompute) {
  const std::pair<std::int64_t, std::int64_t> sides[] = {{7, 7}, {1, 1}, {2, 9}, {14, 5}, {28, 28}};
  for (const auto& [height, width] : sides) {
    const std::string what = std::to_string(height) + " x " + std::to_string(width);
    ExpectSame(Of(height, width, step_by_step::DoubleBilinear), Of(height, width, DoubleBilinear), "doubled " + what);
    for (const auto& [down, across] : sides) {
      const auto pool = [&](const auto& of) {
        return [&](const at::Tensor& planes) { return of(planes, down, across); };
      };
      ExpectSame(Of(height, width, pool(step_by_step::PoolTo)), Of(height, width, pool(PoolTo)), "pooled " + what);
    }
    const auto border = [](const auto& of) {
      return [&](const at::Tensor& planes) { return of(planes, {1, 4, 0, 3}); };
    };
    ExpectSame(Of(height, width, border(step_by_step::RepeatBorder)), Of(height, width, border(RepeatBorder)),
               "bordered " + what);
  }
}

}  // namespace
}  // namespace retort::worker
