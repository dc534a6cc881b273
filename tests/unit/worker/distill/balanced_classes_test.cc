#include "worker/distill/vote_targets.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "experiments/base/rng_stream.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

std::int64_t Rightly(const at::Tensor& classes, const at::Tensor& truth) {
  return (classes == truth).sum().item<std::int64_t>();
}

// Three classes of 100 rows each, told apart by scores with noise; the last class's scores lie lower by `bias`.
std::pair<at::Tensor, at::Tensor> Scores(double bias) {
  const at::Tensor truth = at::arange(300, at::kLong).remainder(3);
  const at::Tensor scores = at::one_hot(truth, 3).to(at::kFloat) + DrawNormalRows(300, 3, RngStream(4)) * 0.3;
  scores.select(1, 2).sub_(bias);
  return {scores, truth};
}

TEST(AssignBalancedClasses, SharesTheRowsOutEvenly) {
  const at::Tensor scores = DrawNormalRows(1000, 10, RngStream(3)) + at::arange(10) * 0.5;
  const at::Tensor counts = at::bincount(AssignBalancedClasses(scores), {}, 10);
  EXPECT_GE(counts.min().item<std::int64_t>(), 90);
  EXPECT_LE(counts.max().item<std::int64_t>(), 110);
}

TEST(AssignBalancedClasses, UndoesWhatIsTakenFromAClass) {
  const auto [scores, truth] = Scores(1);
  EXPECT_LT(Rightly(scores.argmax(1), truth), 240);
  EXPECT_GT(Rightly(AssignBalancedClasses(scores), truth), 285);
}

TEST(AssignBalancedClasses, ChangesLittleWhereNothingIsTaken) {
  const auto [scores, truth] = Scores(0);
  EXPECT_GE(Rightly(AssignBalancedClasses(scores), scores.argmax(1)), 290);
}

TEST(AssignBalancedClasses, LooksAtNoScale) {
  const auto [scores, truth] = Scores(0.5);
  EXPECT_TRUE(at::equal(AssignBalancedClasses(scores), AssignBalancedClasses(scores * 1024)));
}

TEST(AssignBalancedClasses, FewRowsAndScoresThatSayNothingHaveClassesToo) {
  EXPECT_EQ(AssignBalancedClasses(at::zeros({4, 3})).size(0), 4);
  EXPECT_EQ(AssignBalancedClasses(at::eye(2)).size(0), 2);
  EXPECT_EQ(AssignBalancedClasses(at::randn({3, 1})).max().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace retort::worker
