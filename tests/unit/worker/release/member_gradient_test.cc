// Gradients summed over an ensemble: against values worked by hand, and the noise against what the event says of it.
#include "worker/release/member_gradient.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/one_hot.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "experiments/privacy/relation.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/gang/local_collective.h"
#include "worker/gang/row_share.h"

namespace retort::worker::release::member_gradient_test {
namespace {

constexpr std::int64_t kRows = 5, kClasses = 4, kMembers = 3;

at::Tensor Said() {
  return 3 * at::sin(at::arange(kMembers * kRows * kClasses, at::kFloat).mul(1.7)).reshape({kMembers, kRows, kClasses});
}

at::Tensor Student() { return at::cos(at::arange(kRows * kClasses, at::kFloat)).reshape({kRows, kClasses}); }

// p - e_label, row by row and in double, cut to length C |g| / (|g| + e), summed over the members.
at::Tensor SumByHand(const at::Tensor& said, double bound, double floor) {
  at::Tensor sum = at::zeros({kRows, kClasses}, at::kDouble);
  const at::Tensor p = Student().to(at::kDouble).softmax(1);
  for (std::int64_t member = 0; member < said.size(0); ++member) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::int64_t label = 0;
      for (std::int64_t c = 1; c < kClasses; ++c)
        if (said[member][row][c].item<double>() > said[member][row][label].item<double>()) label = c;
      double square = 0;
      std::vector<double> g(kClasses);
      for (std::int64_t c = 0; c < kClasses; ++c) {
        g[static_cast<std::size_t>(c)] = p[row][c].item<double>() - (c == label ? 1 : 0);
        square += g[static_cast<std::size_t>(c)] * g[static_cast<std::size_t>(c)];
      }
      for (std::int64_t c = 0; c < kClasses; ++c)
        sum[row][c] += bound * g[static_cast<std::size_t>(c)] / (std::sqrt(square) + floor);
    }
  }
  return sum;
}

class MemberGradientTest : public ::testing::Test {
 protected:
  MemberGradientTest() : book_(&port_, 1, privacy::kMaxDraws) {
    settings_.rule.loss = DistillationLoss::ce_hard;
    settings_.rule.norm_bound = 0.5;
    settings_.sigma = 3;
    settings_.batch = kRows;
    settings_.classes = kClasses;
    settings_.members = kMembers;
  }
  std::unique_ptr<MemberGradient> Make() {
    return MemberGradient::Create(settings_, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
  }
  Query Asked(std::int64_t step, std::int64_t rows = kRows) {
    return {DistinctInputs(rows, step), Student(), step, 1, {}, MemberRule{settings_.rule, settings_.sigma}};
  }
  Answers Ask(std::int64_t step, const at::Tensor& said = Said()) {
    FixedTeacher teacher(said);
    return Oracle::Ask(teacher, Asked(step));
  }
  MemberGradientSettings settings_;
  MemoryPort port_;
  ChargeBook book_;
};

TEST_F(MemberGradientTest, IsTheMeanOfTheMembersBoundedGradientsUnderNoise) {
  settings_.sigma = 1e-9;
  const at::Tensor released = ChargeAndRelease(*Make(), Ask(1), book_).value().values;
  EXPECT_TRUE(at::allclose(released.to(at::kDouble), SumByHand(Said(), 0.5, 1e-4) / kMembers, 1e-5, 1e-7));
}

TEST_F(MemberGradientTest, SumNoiseHasTheEventsDeviationDividedOnce) {
  constexpr std::int64_t kSteps = 1000;
  for (const bool each : {false, true}) {
    settings_.each_draws = each;
    const auto mechanism = Make();
    const at::Tensor mean = SumByHand(Said(), 0.5, 1e-4) / kMembers;
    at::Tensor square = at::zeros({kRows, kClasses}, at::kDouble);
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      const at::Tensor released = ChargeAndRelease(*mechanism, Ask(step), book_).value().values;
      square += (released - mean).square();
    }
    // n means of own draws have sqrt(n) the deviation of one draw on the sum.
    const double deviation = mechanism->Describe(kRows).noise_std * (each ? std::sqrt(kMembers) : 1) / kMembers;
    EXPECT_EQ(mechanism->Describe(kRows).noise_std, 1.5);
    const at::Tensor found = (square / kSteps).sqrt() / deviation;  // of 1000: +- 2.2 %
    EXPECT_LT((found - 1).abs().max().item<double>(), 0.12) << (each ? "each" : "one");
  }
}

TEST_F(MemberGradientTest, AReplacedMemberMovesARowByTwiceTheBoundAtMost) {
  settings_.sigma = 1e-9;
  for (const auto loss : {DistillationLoss::dkd, DistillationLoss::kd, DistillationLoss::ce_hard}) {
    for (const auto normalization : {Normalization::row, Normalization::clip}) {
      settings_.rule.loss = loss;
      settings_.rule.normalization = normalization;
      at::Tensor other = Said();
      other[1] = -40 * other[1];
      const at::Tensor one = ChargeAndRelease(*Make(), Ask(1), book_).value().values;
      const at::Tensor two = ChargeAndRelease(*Make(), Ask(1, other), book_).value().values;
      const double moved = ((one - two) * kMembers).norm(2, 1).max().item<double>();
      EXPECT_LE(moved, Make()->Describe(kRows).sensitivity * (1 + 1e-5));
      EXPECT_GT(moved, 0);
    }
  }
}

TEST_F(MemberGradientTest, EventSaysWhatWasDrawn) {
  const privacy::PrivacyEvent event = Make()->Describe(kRows);
  EXPECT_EQ(event.kind, privacy::MechanismKind::member_gradient);
  EXPECT_EQ(event.unit, privacy::EventUnit::row);
  EXPECT_EQ(event.count, kRows);
  EXPECT_EQ(event.sensitivity, 1.0);
  EXPECT_EQ(event.noise_coordinates, kClasses);
  EXPECT_EQ(event.release_coordinates, kClasses);
  settings_.trusted_server = true;
  EXPECT_NE(Make()->Describe(kRows).assumptions, event.assumptions);
}

TEST_F(MemberGradientTest, AnswersOfAnotherRuleOrKindAreRefused) {
  FixedTeacher ensemble(Said());
  Query louder = Asked(1);
  louder.gradients->rule.norm_bound = 50;
  EXPECT_EQ(ChargeAndRelease(*Make(), Oracle::Ask(ensemble, louder), book_).status().code(), StatusCode::refused);
  Query votes = Asked(1);
  votes.gradients.reset();
  EXPECT_EQ(ChargeAndRelease(*Make(), Oracle::Ask(ensemble, votes), book_).status().code(), StatusCode::refused);
  FixedTeacher single(Said()[0]);
  EXPECT_EQ(ChargeAndRelease(*Make(), Oracle::Ask(single, Asked(1)), book_).status().code(), StatusCode::refused);
}

TEST_F(MemberGradientTest, StepThatDoesNotGrowIsRefused) {
  const auto mechanism = Make();
  ASSERT_TRUE(ChargeAndRelease(*mechanism, Ask(4), book_).ok());
  EXPECT_EQ(ChargeAndRelease(*mechanism, Ask(4), book_).status().code(), StatusCode::refused);
  EXPECT_TRUE(ChargeAndRelease(*mechanism, Ask(5), book_).ok());
}

TEST_F(MemberGradientTest, AnAnswerThatIsNotFiniteCountsAsZeros) {
  at::Tensor bad = Said(), zero = Said();
  bad[1][2][1] = std::nan("");
  zero[1][2].zero_();
  EXPECT_TRUE(at::equal(ChargeAndRelease(*Make(), Ask(1, bad), book_).value().values,
                        ChargeAndRelease(*Make(), Ask(1, zero), book_).value().values));
}

// As printed: the batch of a member has norm C, so that no row of it is longer.
TEST_F(MemberGradientTest, ANormOverTheBatchBoundsAMembersWholeBatch) {
  settings_.rule.normalization = Normalization::frobenius;
  settings_.sigma = 1e-9;
  const at::Tensor released = ChargeAndRelease(*Make(), Ask(1), book_).value().values * kMembers;
  at::Tensor sum = at::zeros({kRows, kClasses}, at::kDouble);
  const at::Tensor p = Student().to(at::kDouble).softmax(1);
  for (std::int64_t member = 0; member < kMembers; ++member) {
    const at::Tensor label = at::one_hot(Said()[member].argmax(1), kClasses);
    const at::Tensor g = p - label;
    const at::Tensor bounded = 0.5 * g / (g.norm() + 1e-4);
    EXPECT_LE(bounded.norm(2, 1).max().item<double>(), 0.5);
    sum += bounded;
  }
  EXPECT_TRUE(at::allclose(released.to(at::kDouble), sum, 1e-5, 1e-7));
  EXPECT_FALSE(Make()->Describe(kRows).frobenius) << "the event lets every row move by as much";
}

// An ensemble of which each rank of a gang asks its share.
class SpreadTeacher final : public TeacherModel {
 public:
  SpreadTeacher(at::Tensor said, RowShare share) : said_(std::move(said)), share_(share) {}
  std::int64_t classes() const override { return kClasses; }
  std::int64_t members() const override { return said_.size(0); }

 protected:
  at::Tensor Logits(const at::Tensor&) override { return said_[0]; }
  at::Tensor MemberLogits(const at::Tensor&) override { return Own(said_, share_); }

 private:
  at::Tensor said_;
  RowShare share_;
};

TEST_F(MemberGradientTest, AGangAddsUpWhatItsRanksMembersSay) {
  const at::Tensor alone = ChargeAndRelease(*Make(), Ask(1), book_).value().values;
  for (const int size : {2, 5}) {  // also more ranks than members
    auto gang = MakeLocalGang(size, std::chrono::seconds(20));
    at::Tensor released;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank) {
      ranks.emplace_back([&, rank] {
        Collective& own = *gang[static_cast<std::size_t>(rank)];
        SpreadTeacher teacher(Said(), ComputeRowShare(kMembers, own));
        const Answers answers = Oracle::SumGradients(Oracle::Ask(teacher, Asked(1)), own).value();
        if (rank == 0) released = ChargeAndRelease(*Make(), answers, book_).value().values;
      });
    }
    for (std::thread& rank : ranks) rank.join();
    EXPECT_TRUE(at::allclose(released, alone, 1e-5, 1e-6)) << size;
  }
}

}  // namespace
}  // namespace retort::worker::release::member_gradient_test
