#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "worker/optim/optimisers.h"
#include "worker/optim/schedule.h"

namespace retort::worker {
namespace {

TEST(Adam, FollowsTheFormulaOfItsPaper) {
  constexpr double kRate = 0.01, kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
  const std::int64_t n = 100'003;  // no multiple of any vector width
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

TEST(Schedule, CosineFallsFromTheHoldToItsEnd) {
  EXPECT_DOUBLE_EQ(HoldThenCosine(50, 101, 0.5, 0.1), 1);
  EXPECT_NEAR(HoldThenCosine(75, 101, 0.5, 0.1), 0.55, 1e-12);
  EXPECT_NEAR(HoldThenCosine(100, 101, 0.5, 0.1), 0.1, 1e-12);
  EXPECT_GT(HoldThenCosine(60, 101, 0.5, 0.1), HoldThenLinear(60, 101, 0.5, 0.1)) << "slow at first";
}

TEST(Schedule, StepsDownToATenthAtEvenParts) {
  EXPECT_DOUBLE_EQ(StepDown(0, 90, 2), 1);
  EXPECT_DOUBLE_EQ(StepDown(29, 90, 2), 1);
  EXPECT_DOUBLE_EQ(StepDown(30, 90, 2), 0.1);
  EXPECT_DOUBLE_EQ(StepDown(60, 90, 2), 0.01);
  EXPECT_DOUBLE_EQ(StepDown(89, 90, 2), 0.01);
  EXPECT_DOUBLE_EQ(StepDown(5, 6, 0), 1);
}

// Reference: torch.optim.SGD(lr=0.1, momentum=0.9, weight_decay=0.5) on p = [1, -2], gradients [0.5, 1], [-1, 2].
TEST(Sgd, MatchesTorchWithMomentumAndDecay) {
  at::Tensor p = at::tensor({1.0F, -2.0F});
  Sgd sgd(2, {0.9, 0.5});
  sgd.Step(p, at::tensor({0.5F, 1.0F}), 0.1);
  EXPECT_TRUE(at::allclose(p, at::tensor({0.9F, -2.0F})));
  sgd.Step(p, at::tensor({-1.0F, 2.0F}), 0.1);
  EXPECT_TRUE(at::allclose(p, at::tensor({0.865F, -2.1F})));
}

TEST(Schedule, KappaReachesItsEndAtTheLastStep) {
  EXPECT_DOUBLE_EQ(InterpolateLinearly(0, 160, 0.25, 0.01), 0.25);
  EXPECT_NEAR(InterpolateLinearly(159, 160, 0.25, 0.01), 0.01, 1e-15);
  EXPECT_DOUBLE_EQ(InterpolateLinearly(0, 1, 0.25, 0.01), 0.25);
}

}  // namespace
}  // namespace retort::worker
