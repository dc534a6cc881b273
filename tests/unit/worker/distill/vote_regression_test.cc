#include "worker/distill/vote_targets.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>

#include "worker/tensors/rng_streams.h"

namespace retort::worker::vote_regression_test {
namespace {

constexpr std::int64_t kAsked = 400, kImages = 1000, kValues = 20, kClasses = 5;
constexpr double kNoise = 30;

struct Votes {
  at::Tensor features = DrawNormalRows(kImages, kValues, RngStream(1));
  at::Tensor map = DrawNormalRows(kClasses, kValues, RngStream(2)) * 4;
  at::Tensor clean = at::matmul(features, map.t());
  at::Tensor noise = DrawNormalRows(kAsked, kClasses, RngStream(3)) * kNoise;
  at::Tensor released = clean.narrow(0, 0, kAsked) + 100 + noise;
};

double ShareRight(const at::Tensor& said, const at::Tensor& clean) {
  return said.argmax(1).eq(clean.argmax(1)).to(at::kDouble).mean().item<double>();
}

TEST(VoteRegression, PredictsPicturesThatWereNotAsked) {
  const Votes votes;
  const at::Tensor said = RegressVotes(votes.features, votes.released, kNoise).value();
  ASSERT_EQ(said.sizes(), votes.clean.sizes());
  const double of_votes = ShareRight(votes.released, votes.clean.narrow(0, 0, kAsked));
  EXPECT_LT(of_votes, 0.6);
  EXPECT_GT(ShareRight(said.narrow(0, 0, kAsked), votes.clean.narrow(0, 0, kAsked)), of_votes + 0.2);
  EXPECT_GT(ShareRight(said.narrow(0, kAsked, kImages - kAsked), votes.clean.narrow(0, kAsked, kImages - kAsked)),
            of_votes + 0.2);
}

TEST(VoteRegression, SolvesTheNormalEquationsOfItsStrength) {
  const Votes votes;
  const at::Tensor x = votes.features.narrow(0, 0, kAsked).to(at::kDouble);
  const at::Tensor y = (votes.released - votes.released.mean(1, true)).to(at::kDouble);
  const double signal = y.square().mean().item<double>() / (kNoise * kNoise) - 1;
  const double strength = x.square().sum(1).mean().item<double>() / signal;
  ASSERT_GT(signal, 0);
  const at::Tensor map =
      at::linalg_solve(at::matmul(x.t(), x) + at::eye(kValues, at::kDouble) * strength, at::matmul(x.t(), y));
  const at::Tensor said = RegressVotes(votes.features, votes.released, kNoise).value();
  EXPECT_TRUE(at::allclose(said.to(at::kDouble), at::matmul(votes.features.to(at::kDouble), map), 1e-4, 1e-3));
}

// The noise alone: nothing is made of it that could be taken for an answer.
TEST(VoteRegression, NoiseIsShrunkToNothing) {
  const Votes votes;
  const at::Tensor said = RegressVotes(votes.features, votes.noise, 2 * kNoise).value();
  EXPECT_LT(said.abs().max().item<double>(), kNoise / 10);
}

TEST(VoteRegression, AConstantForAllClassesChangesNothing) {
  const Votes votes;
  const at::Tensor said = RegressVotes(votes.features, votes.released, kNoise).value();
  const at::Tensor moved = RegressVotes(votes.features, votes.released + 50, kNoise).value();
  EXPECT_TRUE(at::allclose(said, moved, 1e-3, 1e-3));
}

TEST(VoteRegression, WhatIsNotFiniteIsAnError) {
  Votes votes;
  votes.features[3][1] = std::nanf("");
  EXPECT_EQ(RegressVotes(votes.features, votes.released, kNoise).status().code(), StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker::vote_regression_test
