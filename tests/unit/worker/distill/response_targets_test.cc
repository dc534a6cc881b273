#include "worker/distill/response_targets.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace retort::worker::response_targets_test {
namespace {

constexpr std::int64_t kRows = 6, kClasses = 5;
constexpr double kEpsilon0 = 1.3;

// Q(y | r) of randomised response, class by class.
double Law(std::int64_t y, std::int64_t r, const at::Tensor& candidates) {
  const auto k = static_cast<double>(candidates.sum().item<std::int64_t>());
  if (!candidates[y].item<bool>()) return 0;
  if (!candidates[r].item<bool>()) return 1 / k;
  return (y == r ? std::exp(kEpsilon0) : 1) / (std::exp(kEpsilon0) + k - 1);
}

struct Case {
  at::Tensor logits = at::randn({kRows, kClasses}, at::kDouble);
  at::Tensor candidates = SelectTopCandidates(at::randn({kRows, kClasses}), 3);
  std::int64_t members = 1;
  at::Tensor answers = at::zeros({kRows, kClasses}, at::kInt);

  explicit Case(std::int64_t of_members = 1) : members(of_members) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      const at::Tensor set = candidates[row].nonzero().squeeze(1);
      for (std::int64_t m = 0; m < members; ++m) answers[row][set[(row + 2 * m) % 3]] += 1;
    }
  }
  [[nodiscard]] at::Tensor annotation() const { return AnnotateResponses(answers, candidates, members); }
};

// -sum_y share_y log sum_r p_r Q(y | r) of one row.
double Surprise(const at::Tensor& logits, const Case& c, std::int64_t row) {
  const at::Tensor p = at::softmax(logits, 0);
  double loss = 0;
  for (std::int64_t y = 0; y < kClasses; ++y) {
    const double share = c.answers[row][y].item<double>() / static_cast<double>(c.members);
    if (share == 0) continue;
    double seen = 0;
    for (std::int64_t r = 0; r < kClasses; ++r) seen += p[r].item<double>() * Law(y, r, c.candidates[row]);
    loss -= share * std::log(seen);
  }
  return loss;
}

TEST(ResponseAnnotation, SaysWhatWasAnsweredAndWhatCouldBe) {
  const at::Tensor answers = at::tensor({0, 2, 1, 0}, at::kInt).unsqueeze(0);
  const at::Tensor candidates = at::tensor({1, 1, 1, 0}).to(at::kBool).unsqueeze(0);
  EXPECT_TRUE(AnnotateResponses(answers, candidates, 3).allclose(at::tensor({0.0F, 2 / 3.0F, 1 / 3.0F, -1.0F})));
}

TEST(ExpectedClasses, ProbabilitiesLessThemAreTheSlopeOfTheSurprise) {
  at::manual_seed(3);
  for (const std::int64_t members : {1, 4}) {
    const Case c(members);
    const at::Tensor p = at::softmax(c.logits, 1);
    const at::Tensor slope =
        p - ComputeExpectedClasses(p.log().to(at::kFloat), c.annotation(), kEpsilon0).to(at::kDouble);
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t j = 0; j < kClasses; ++j) {
        constexpr double kStep = 1e-5;
        at::Tensor up = c.logits[row].clone(), down = c.logits[row].clone();
        up[j] += kStep;
        down[j] -= kStep;
        EXPECT_NEAR(slope[row][j].item<double>(), (Surprise(up, c, row) - Surprise(down, c, row)) / (2 * kStep), 1e-5)
            << "row " << row << " class " << j << " members " << members;
      }
    }
  }
}

TEST(ExpectedClasses, AreADistribution) {
  at::manual_seed(4);
  const Case c(3);
  const at::Tensor expected =
      ComputeExpectedClasses(at::log_softmax(c.logits, 1).to(at::kFloat), c.annotation(), kEpsilon0);
  EXPECT_TRUE(expected.sum(1).allclose(at::ones({kRows})));
  EXPECT_TRUE(expected.ge(0).all().item<bool>());
}

TEST(ExpectedClasses, AreTheAnswerAtLargeEpsilonOverAllClasses) {
  at::manual_seed(5);
  Case c;
  c.candidates.fill_(true);
  const at::Tensor expected = ComputeExpectedClasses(at::log_softmax(c.logits, 1).to(at::kFloat), c.annotation(), 700);
  EXPECT_TRUE(expected.allclose(c.answers.to(at::kFloat)));
}

// Among classes that were no candidates the student's own preference stays.
TEST(ExpectedClasses, KeepWhatTheAnswerCannotTellApart) {
  at::manual_seed(6);
  const Case c;
  const at::Tensor log_p = at::log_softmax(c.logits, 1).to(at::kFloat);
  const at::Tensor ratio = ComputeExpectedClasses(log_p, c.annotation(), kEpsilon0) / log_p.exp();
  for (std::int64_t row = 0; row < kRows; ++row) {
    const at::Tensor outside = ratio[row].masked_select(c.candidates[row].logical_not());
    EXPECT_NEAR(outside[0].item<float>(), outside[1].item<float>(), 1e-5);
  }
}

TEST(ExpectedClasses, StayFiniteForAStudentThatIsSureOfAnotherClass) {
  at::Tensor log_p = at::full({1, 3}, -200.0F);
  log_p[0][2] = 0;
  const at::Tensor annotation = at::tensor({1.0F, 0.0F, 0.0F}).unsqueeze(0);
  const at::Tensor expected = ComputeExpectedClasses(log_p, annotation, 700);
  EXPECT_TRUE(expected.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace retort::worker::response_targets_test
