// Rows on the lattice: no row longer than the bound whatever it holds, and sums that are exact.
#include "worker/release/lattice.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace retort::worker::release {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows that go wrong where rounding, overflow or underflow does.
at::Tensor HostileRows(std::int64_t coordinates) {
  const std::vector<float> values = {0.0f,  -0.0f, 1e-45f, -1e-38f, 1e-20f,    1.0f,       -1.0f,
                                     1e19f, 1e38f, 3e38f,  -3e38f,  kInfinity, -kInfinity, std::nanf("")};
  std::vector<at::Tensor> rows;
  for (const float value : values) {
    rows.push_back(at::full({coordinates}, value));
    at::Tensor one = at::zeros({coordinates});
    one[0] = value;
    rows.push_back(one);
    at::Tensor mixed = at::sin(at::arange(coordinates, at::kFloat));
    mixed[coordinates / 2] = value;
    rows.push_back(mixed);
  }
  return at::stack(rows);
}

TEST(LatticeRows, NoRoundedRowIsLongerThanTheBound) {
  for (const double bound : {1e-9, 0.1, 1.0, 1e9}) {
    for (const double ratio : {1e-6, 0.5, 300.0, 1e6}) {
      const Lattice lattice = Lattice::For(bound, ratio * bound).value();
      EXPECT_LE(lattice.longest * lattice.step, bound);
      for (const std::int64_t coordinates : {1, 7, 300, 5000}) {
        const at::Tensor rows = HostileRows(coordinates);
        const at::Tensor factors = ClipFactors(rows, lattice);
        for (std::int64_t i = 0; i < rows.size(0); ++i) {
          at::Tensor sum = at::zeros({coordinates}, at::kDouble);
          AddRounded(rows.narrow(0, i, 1), factors.narrow(0, i, 1), sum);
          ASSERT_TRUE(at::isfinite(sum).all().item<bool>()) << i;
          ASSERT_TRUE(sum.equal(sum.round())) << i;
          ASSERT_LE(sum.square().sum().item<double>(), lattice.longest * lattice.longest) << i << " of " << coordinates;
        }
      }
    }
  }
}

TEST(LatticeRows, NoOuterProductIsLongerThanTheBound) {
  for (const double bound : {1e-9, 0.15, 1e9}) {
    for (const double ratio : {1e-6, 50.0, 1e6}) {
      const Lattice lattice = Lattice::For(bound, ratio * bound).value();
      const at::Tensor left = HostileRows(10), right = HostileRows(70);
      for (std::int64_t i = 0; i < left.size(0); ++i) {
        for (std::int64_t j = 0; j < right.size(0); ++j) {
          at::Tensor sum = at::zeros({700}, at::kDouble);
          AddRoundedOuter(left.narrow(0, i, 1), right.narrow(0, j, 1), lattice, sum);
          ASSERT_TRUE(at::isfinite(sum).all().item<bool>()) << i << " " << j;
          ASSERT_LE(sum.square().sum().item<double>(), lattice.longest * lattice.longest) << i << " " << j;
        }
      }
    }
  }
}

TEST(LatticeRows, ShortRowsAreKeptAndLongOnesShortened) {
  const Lattice lattice = Lattice::For(0.5, 1).value();
  const at::Tensor rows = at::tensor({3.0f, 4.0f, 0.1f, 0.0f}).reshape({2, 2});
  at::Tensor sum = at::zeros({2}, at::kDouble);
  AddRounded(rows, ClipFactors(rows, lattice), sum);
  EXPECT_TRUE(at::allclose(sum * lattice.step, at::tensor({0.4, 0.4}, at::kDouble), 1e-7, 0));
}

// Each factor of an outer product has half of the bits: 2^-15 of its length in each of 1,100 coordinates is 0.001.
TEST(LatticeRows, OuterProductsAreThoseOfTheirRows) {
  const Lattice lattice = Lattice::For(2, 3).value();
  const at::Tensor left = at::sin(at::arange(50 * 7, at::kFloat)).reshape({50, 7});
  const at::Tensor right = at::cos(at::arange(50 * 1100, at::kFloat)).reshape({50, 1100}) * 0.01;
  at::Tensor outer = at::zeros({7700}, at::kDouble), rows = outer.clone();
  AddRoundedOuter(left, right, lattice, outer);
  const at::Tensor products = (left.unsqueeze(2) * right.unsqueeze(1)).reshape({50, 7700});
  AddRounded(products, ClipFactors(products, lattice), rows);
  EXPECT_LT(((outer - rows).norm() / rows.norm()).item<double>(), 3e-3);
}

TEST(LatticeRows, SumsDoNotDependOnOrderOrOnWhoElseIsThere) {
  const Lattice lattice = Lattice::For(0.1, 0.2).value();
  const at::Tensor rows = at::randn({500, 1000});
  const at::Tensor factors = ClipFactors(rows, lattice);
  at::Tensor sum = at::zeros({1000}, at::kDouble), backwards = sum.clone(), without = sum.clone(), one = sum.clone();
  AddRounded(rows, factors, sum);
  AddRounded(rows.flip(0), factors.flip(0), backwards);
  EXPECT_TRUE(sum.equal(backwards));
  AddRounded(rows.narrow(0, 1, 499), factors.narrow(0, 1, 499), without);
  AddRounded(rows.narrow(0, 0, 1), factors.narrow(0, 0, 1), one);
  EXPECT_TRUE((sum - without).equal(one));
}

}  // namespace
}  // namespace retort::worker::release
