// Which class a row is taken for, and among the five of which it is looked for.
#include "worker/training/evaluation.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace retort::worker {
namespace {

TEST(Evaluation, TheLargestLogitDecides) {
  const auto seen =
      Evaluate(at::tensor({0.1F, 0.9F, 0.3F, 2.0F, -1.0F, 1.0F}).view({2, 3}), at::tensor({1, 2}, at::kLong));
  EXPECT_EQ(seen.n, 2);
  EXPECT_DOUBLE_EQ(seen.accuracy, 0.5);
  EXPECT_EQ(seen.confusion, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 0, 1, 0, 0}));
}

// As votes of few members tie. More rows and classes than a kernel takes in one go.
TEST(Evaluation, OfEqualLogitsTheFirstIsTheLargest) {
  const std::int64_t rows = 300;
  for (const std::int64_t classes : {3, 10, 1000}) {
    const at::Tensor tied = at::ones({rows, classes});
    for (const std::int64_t label : {std::int64_t{0}, std::int64_t{1}, std::int64_t{4}, std::int64_t{5}, classes - 1}) {
      if (label >= classes) continue;
      const auto seen = Evaluate(tied, at::full({rows}, label, at::kLong));
      EXPECT_DOUBLE_EQ(seen.accuracy, label == 0 ? 1 : 0) << label << " of " << classes;
      EXPECT_DOUBLE_EQ(seen.top5, label < 5 ? 1 : 0) << label << " of " << classes;
    }
  }
}

TEST(Evaluation, FiveLargestOfMany) {
  const at::Tensor logits = at::tensor({1.0F, 7.0F, 2.0F, 6.0F, 3.0F, 5.0F, 4.0F}).repeat({7, 1});
  const auto seen = Evaluate(logits, at::arange(7));
  EXPECT_DOUBLE_EQ(seen.accuracy, 1.0 / 7);
  EXPECT_DOUBLE_EQ(seen.top5, 5.0 / 7);
}

TEST(Evaluation, WhatIsNoNumberIsNotAmongThem) {
  const at::Tensor logits = at::full({2, 10}, std::numeric_limits<float>::quiet_NaN());
  EXPECT_DOUBLE_EQ(Evaluate(logits, at::tensor({3, 9}, at::kLong)).top5, 0);
}

TEST(Evaluation, NoExamplesHaveNoAccuracy) {
  const auto seen = Evaluate(at::empty({0, 4}), at::empty({0}, at::kLong));
  EXPECT_EQ(seen.n, 0);
  EXPECT_DOUBLE_EQ(seen.accuracy, 0);
}

}  // namespace
}  // namespace retort::worker
