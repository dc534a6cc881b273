#include "worker/training/frechet.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

at::Tensor MakeMatrix(std::int64_t rows, std::int64_t columns, const std::vector<double>& values) {
  return at::tensor(values, at::kDouble).reshape({rows, columns});
}

// Features whose mean is `mean` and whose unbiased covariance is root^T root, exactly but for rounding.
at::Tensor MakeFeatures(const at::Tensor& mean, const at::Tensor& root) {
  const std::int64_t axes = root.size(0);
  const double scale = std::sqrt((2.0 * static_cast<double>(axes) - 1) / 2);
  const at::Tensor corners = at::cat({at::eye(axes, at::kDouble), -at::eye(axes, at::kDouble)}) * scale;
  return at::matmul(corners, root) + mean;
}

at::Tensor DrawFeatures(std::int64_t rows, std::int64_t values, std::uint64_t seed) {
  return DrawNormalRows(rows, values, RngStream(seed, Purpose::latents));
}

TEST(FrechetTest, DiagonalCovariancesHaveAClosedForm) {
  const at::Tensor a = MakeFeatures(MakeMatrix(1, 3, {1, 2, 3}), at::tensor({1.0, 2.0, 0.5}, at::kDouble).diag());
  const at::Tensor b = MakeFeatures(MakeMatrix(1, 3, {1, 0, 4}), at::tensor({3.0, 2.0, 0.25}, at::kDouble).diag());
  // |(0, 2, -1)|^2 + (1 - 3)^2 + 0 + 0.25^2
  EXPECT_NEAR(ComputeFrechetDistance(a, b), 5 + 4 + 0.0625, 1e-12);
}

TEST(FrechetTest, CovariancesThatDoNotCommuteAreExact) {
  const at::Tensor left = MakeMatrix(2, 2, {1, 0.5, 0, 2}), right = MakeMatrix(2, 2, {1.5, -1, 0.3, 0.7});
  const at::Tensor s = at::matmul(left.t(), left), t = at::matmul(right.t(), right);
  const auto trace = [](const at::Tensor& of) { return of.diagonal().sum().item<double>(); };
  const auto root_det = [](const at::Tensor& of) {
    return std::abs((of[0][0] * of[1][1] - of[0][1] * of[1][0]).item<double>());
  };
  // Of 2 x 2 matrices: tr M^(1/2) = (tr M + 2 det(M)^(1/2))^(1/2).
  const double shared = std::sqrt(trace(at::matmul(s, t)) + 2 * root_det(left) * root_det(right));
  const at::Tensor a = MakeFeatures(MakeMatrix(1, 2, {0, 0}), left), b = MakeFeatures(MakeMatrix(1, 2, {3, 4}), right);
  EXPECT_NEAR(ComputeFrechetDistance(a, b), 25 + trace(s) + trace(t) - 2 * shared, 1e-11);
}

TEST(FrechetTest, SetIsAtNoDistanceFromItself) {
  for (const std::int64_t rows : {5, 40, 300}) {
    const at::Tensor a = DrawFeatures(rows, 40, 3);
    EXPECT_NEAR(ComputeFrechetDistance(a, a), 0, 1e-10) << rows;
  }
}

TEST(FrechetTest, FewerRowsThanValuesAreExact) {
  // Four values of which two vary: 4 rows in the plane of the first two axes, 4 in that of the last two.
  const at::Tensor zeros = at::zeros({1, 4}, at::kDouble);
  const at::Tensor a = MakeFeatures(zeros, MakeMatrix(2, 4, {1, 0, 0, 0, 0, 2, 0, 0}));
  const at::Tensor b = MakeFeatures(zeros, MakeMatrix(2, 4, {0, 0, 3, 0, 0, 0, 0, 1}));
  EXPECT_NEAR(ComputeFrechetDistance(a, b), 1 + 4 + 9 + 1, 1e-12);
  // Two rows each: a line of length 2 x 2^(1/2) along one axis, and the same twice as long.
  const at::Tensor c = MakeMatrix(2, 4, {1, 0, 0, 0, -1, 0, 0, 0});
  EXPECT_NEAR(ComputeFrechetDistance(c, 2 * c), 2, 1e-12);
}

TEST(FrechetTest, RowsAndArgumentsMayTakeAnyOrder) {
  const at::Tensor a = DrawFeatures(60, 20, 1), b = DrawFeatures(15, 20, 2) * 1.5 + 0.2;
  const double distance = ComputeFrechetDistance(a, b);
  EXPECT_GT(distance, 1);
  EXPECT_NEAR(ComputeFrechetDistance(b, a), distance, 1e-10);
  EXPECT_NEAR(ComputeFrechetDistance(a.flip(0), b), distance, 1e-10);
  EXPECT_NEAR(ComputeFrechetDistance(a.to(at::kDouble), b), distance, 1e-10);
}

// A set of more than one block of rows, far from the origin: single precision would lose its variance.
TEST(FrechetTest, ManyRowsFarFromTheOriginAreExact) {
  const at::Tensor few = MakeFeatures(MakeMatrix(1, 2, {1e6, -1e6}), MakeMatrix(2, 2, {1, 0, 0, 2}));
  const at::Tensor many = few.repeat({3000, 1});  // 12,000 rows
  const double rows = 12'000, shrink = (rows / 4 * 3) / (rows - 1);
  const double expected = std::pow(1 - std::sqrt(shrink), 2) * 5;
  EXPECT_NEAR(ComputeFrechetDistance(many, few), expected, 1e-8);
}

TEST(FrechetTest, InfiniteFeatureGivesNoNumber) {
  at::Tensor a = DrawFeatures(6, 3, 1);
  const at::Tensor b = a.clone();
  a[2][1] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(ComputeFrechetDistance(a, b)));
  EXPECT_TRUE(std::isnan(ComputeFrechetDistance(b, a)));
}

}  // namespace
}  // namespace retort::worker
