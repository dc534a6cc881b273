#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "worker/optim/adam.h"
#include "worker/optim/schedule.h"

namespace retort::worker {
namespace {

TEST(Adam, FollowsTheFormulaOfItsPaper) {
  constexpr double kRate = 0.01, kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
  const std::int64_t n = 100'003;   // no multiple of any vector width
  at::Tensor p = at::randn({n});
  at::Tensor want = p.to(at::kDouble), m = at::zeros({n}, at::kDouble), v = at::zeros({n}, at::kDouble);
  Adam adam(n);
  for (int t = 1; t <= 5; ++t) {
    const at::Tensor g = at::randn({n});
    adam.Step(p, g, kRate);
    m = kBeta1 * m + (1 - kBeta1) * g;
    v = kBeta2 * v + (1 - kBeta2) * g * g;
    want -= kRate * (m / (1 - std::pow(kBeta1, t))) / ((v / (1 - std::pow(kBeta2, t))).sqrt() + kEpsilon);
  }
  EXPECT_LT((p - want).abs().max().item<double>(), 2e-6);
}

TEST(Adam, AgreesWithTorchsFusedStep) {
  const std::int64_t n = 4096;
  at::Tensor ours = at::randn({n}), theirs = ours.clone(), m = at::zeros({n}), v = at::zeros({n}), none;
  Adam adam(n);
  for (int t = 1; t <= 3; ++t) {
    const at::Tensor g = at::randn({n});
    adam.Step(ours, g, 1e-2);
    at::_fused_adam_({theirs}, {g}, {m}, {v}, {}, {at::full({}, t, at::kFloat)}, 1e-2, 0.9, 0.999, 0, 1e-8, false,
                     false);
  }
  EXPECT_TRUE(at::allclose(ours, theirs, 1e-5, 1e-6));
}

TEST(Adam, StateContinuesWhereItWasSaved) {
  at::Tensor a = at::ones({64}), b = a.clone();
  const at::Tensor g = at::full({64}, 0.3);
  Adam first(64), second(64);
  TrainState from, to;
  first.Register(from, "adam/");
  second.Register(to, "adam/");
  first.Step(a, g, 0.1);
  b.copy_(a);
  ASSERT_TRUE(to.Load(from.Save()).ok());
  first.Step(a, g, 0.1);
  second.Step(b, g, 0.1);
  EXPECT_TRUE(a.equal(b));
}

TEST(Schedule, HoldsThenFallsLinearlyToItsEnd) {
  EXPECT_DOUBLE_EQ(HoldThenLinear(0, 101, 0.5, 0.05), 1);
  EXPECT_DOUBLE_EQ(HoldThenLinear(50, 101, 0.5, 0.05), 1);
  EXPECT_DOUBLE_EQ(HoldThenLinear(75, 101, 0.5, 0.05), 0.525);
  EXPECT_NEAR(HoldThenLinear(100, 101, 0.5, 0.05), 0.05, 1e-15);
  EXPECT_DOUBLE_EQ(HoldThenLinear(7, 10, 1, 1), 1);
  EXPECT_DOUBLE_EQ(HoldThenLinear(0, 1, 0, 0.1), 1);
}

TEST(Schedule, KappaReachesItsEndAtTheLastStep) {
  EXPECT_DOUBLE_EQ(LinearBetween(0, 160, 0.25, 0.01), 0.25);
  EXPECT_NEAR(LinearBetween(159, 160, 0.25, 0.01), 0.01, 1e-15);
  EXPECT_DOUBLE_EQ(LinearBetween(0, 1, 0.25, 0.01), 0.25);
}

}  // namespace
}  // namespace retort::worker
