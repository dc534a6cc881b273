#include "worker/release/answers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "experiments/privacy/relation.h"
#include "experiments/sweep/trial_rules.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/release/noisy_votes.h"

namespace retort::worker::release::vote_shares_test {
namespace {

constexpr std::int64_t kRows = 500, kClasses = 10;

// Random logits from flat to certain, and the corners.
at::Tensor ManyLogits() {
  at::manual_seed(4);
  at::Tensor logits = at::randn({kRows, kClasses}) * at::logspace(-2, 3, kRows).unsqueeze(1);
  logits.slice(0, 0, kClasses).copy_(at::eye(kClasses) * 1000);
  return logits;
}

void ExpectWholeShares(const at::Tensor& shares, std::int64_t grain) {
  EXPECT_EQ(shares.scalar_type(), at::kLong);
  EXPECT_GE(shares.min().item<std::int64_t>(), 0);
  EXPECT_LE(shares.sum(-1).max().item<std::int64_t>(), grain);
}

TEST(VoteShares, AreWholeNumbersThatAddUpToTheGrainAtMost) {
  for (const std::int64_t grain : {1, 2, 3, 10, 255, 1024})
    ExpectWholeShares(ComputeVoteShares(ManyLogits(), grain), grain);
}

TEST(VoteShares, StayInsideTheGrainForNumbersThatAreNoProbabilities) {
  const double inf = std::numeric_limits<double>::infinity();
  const at::Tensor wild =
      at::tensor({0.6, 0.6, 0.6, -1.0, inf, 0.2, std::nan(""), 1e300, -inf, 1.0, 0.0, 0.0}).reshape({3, 4});
  ExpectWholeShares(RoundDownToShares(wild, 10), 10);
  EXPECT_TRUE(at::equal(RoundDownToShares(wild, 10)[0], at::tensor({6, 4, 0, 0}, at::kLong)));
}

TEST(VoteShares, AreTheFlooredSoftmaxWhereThatFits) {
  const at::Tensor logits = ManyLogits();
  const at::Tensor expected = (logits.softmax(-1) * 100).floor().to(at::kLong);
  EXPECT_TRUE(at::equal(ComputeVoteShares(logits, 100), expected));
}

TEST(VoteShares, OfGrainOneAreOneHot) {
  const at::Tensor shares = ComputeVoteShares(ManyLogits(), 1);
  EXPECT_TRUE(at::equal(shares.argmax(-1), ManyLogits().argmax(-1)));
  EXPECT_EQ(shares.sum().item<std::int64_t>(), kRows);
}

// By integers: the squared distance of any two, and of each from nothing; both are reached.
TEST(VoteShares, SquaredDistanceIsAtMostTwiceTheSquaredGrain) {
  for (const std::int64_t grain : {1, 7, 64}) {
    const at::Tensor shares = ComputeVoteShares(ManyLogits(), grain);
    const at::Tensor apart = (shares.unsqueeze(0) - shares.unsqueeze(1)).square().sum(-1);
    EXPECT_EQ(apart.max().item<std::int64_t>(), 2 * grain * grain);
    EXPECT_EQ(shares.square().sum(-1).max().item<std::int64_t>(), grain * grain);
  }
}

class NoisyProbabilities : public ::testing::Test {
 protected:
  static constexpr std::int64_t kGrain = 16, kMembers = 3;
  Answers Ask(std::int64_t grain, std::int64_t step = 0) {
    FixedTeacher teacher(at::randn({kMembers, kRows, kClasses}, at::kFloat));
    return Oracle::Ask(teacher, {DistinctInputs(kRows, 0), {}, step, grain});
  }
  static std::unique_ptr<NoisyVotes> Make(double scale, std::int64_t grain = kGrain) {
    return NoisyVotes::Create({scale, kClasses, grain}, noise::NoiseKey::FromOperatingSystem()).value();
  }
  MemoryPort port_;
  ChargeBook book_{&port_, 1, 1'000'000};
};

TEST_F(NoisyProbabilities, NegligibleNoiseLeavesTheSumOfTheShares) {
  at::manual_seed(1);
  const at::Tensor logits = at::randn({kMembers, kRows, kClasses});
  FixedTeacher teacher(logits);
  const Answers answers = Oracle::Ask(teacher, {DistinctInputs(kRows, 0), {}, 0, kGrain});
  const auto released = ChargeAndRelease(*Make(0.05 / kGrain), answers, book_);
  EXPECT_TRUE(at::equal(released.value().values, ComputeVoteShares(logits, kGrain).sum(0).to(at::kInt)));
}

TEST_F(NoisyProbabilities, MembersThatVotedAtAnotherGrainAreRefused) {
  EXPECT_EQ(ChargeAndRelease(*Make(4), Ask(1), book_).status().code(), StatusCode::refused);
  EXPECT_EQ(ChargeAndRelease(*Make(4, 1), Ask(kGrain), book_).status().code(), StatusCode::refused);
  EXPECT_TRUE(ChargeAndRelease(*Make(4), Ask(kGrain), book_).ok());
}

TEST_F(NoisyProbabilities, CostWhatVotesOfTheSameNoiseCost) {
  const privacy::PrivacyEvent fine = Make(40)->Describe(300), coarse = Make(40, 1)->Describe(300);
  EXPECT_EQ(fine.noise_std, 40 * kGrain);
  for (const privacy::Relation& relation : {privacy::kMember, privacy::kZeroedMember, privacy::kExample}) {
    EXPECT_EQ(privacy::ComputeRelationBound(relation, {fine}, 1e-5, nullptr).epsilon,
              privacy::ComputeRelationBound(relation, {coarse}, 1e-5, nullptr).epsilon);
  }
}

TEST_F(NoisyProbabilities, GrainOutsideItsRangeIsRefused) {
  for (const std::int64_t grain : {-1, 0, 1025}) {
    EXPECT_EQ(NoisyVotes::Create({4, kClasses, grain}, noise::NoiseKey::FromOperatingSystem()).status().code(),
              StatusCode::usage);
  }
  EXPECT_FALSE(NoisyVotes::Create({1048576, kClasses, 2}, noise::NoiseKey::FromOperatingSystem()).ok());
}

TEST_F(NoisyProbabilities, PlansKnowTheRangeOfTheSampler) {
  EXPECT_EQ(kMinVoteNoise, noise::LatticeGaussian::kMinScale);
  EXPECT_EQ(kMaxVoteNoise, noise::LatticeGaussian::kMaxScale);
}

}  // namespace
}  // namespace retort::worker::release::vote_shares_test
