#include "worker/release/randomized_response.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "experiments/privacy/randomized_response.h"
#include "experiments/privacy/relation.h"
#include "tests/unit/release/release_fixture.h"

namespace retort::worker::release {
namespace {

constexpr std::int64_t kRows = 64, kClasses = 5;

std::unique_ptr<RandomizedResponse> Make(double epsilon0, std::uint64_t seed = 1) {
  return RandomizedResponse::Create({epsilon0, kClasses, kRows}, noise::NoiseKey::FromSeed(seed, TrialId(1)))
      .value();
}

// Row r's largest class is r mod 5.
at::Tensor Logits() { return at::one_hot(at::arange(kRows) % kClasses, kClasses).to(at::kFloat); }

// Classes 1, 2 and 3 for every row.
at::Tensor Middle(std::int64_t rows = kRows) {
  at::Tensor candidates = at::zeros({rows, kClasses}, at::kBool);
  candidates.slice(1, 1, 4).fill_(true);
  return candidates;
}

class RandomizedResponseTest : public testing::Test {
 protected:
  Result<Released> Release(Mechanism& mechanism, const at::Tensor& candidates, std::int64_t step,
                           std::int64_t inputs = 0) {
    FixedTeacher teacher(Logits());
    const Answers answers = Oracle::Ask(teacher, {DistinctInputs(kRows, inputs), {}, step, 1, candidates});
    return ChargeAndRelease(mechanism, answers, book_);
  }
  MemoryPort port_;
  ChargeBook book_{&port_, 1, 1'000'000};
};

TEST_F(RandomizedResponseTest, OneCandidateOfEachRowLeaves) {
  const at::Tensor values = Release(*Make(1), Middle(), 1).value().values;
  EXPECT_TRUE(at::equal(values.sum(1), at::ones({kRows}, at::kLong)));
  EXPECT_EQ(values.max().item<int>(), 1);
  EXPECT_EQ(values.min().item<int>(), 0);
  EXPECT_EQ(values.slice(1, 1, 4).sum().item<std::int64_t>(), kRows);
}

TEST_F(RandomizedResponseTest, LargeEpsilonKeepsTheTeachersClassWhereItIsACandidate) {
  const at::Tensor values = Release(*Make(700), at::Tensor(), 1).value().values;
  EXPECT_TRUE(at::equal(values.argmax(1), Logits().argmax(1)));
}

TEST_F(RandomizedResponseTest, SameQueryBytesKeepTheirAnswerAlsoForOtherCandidates) {
  const auto mechanism = Make(1);
  const at::Tensor first = Release(*mechanism, Middle(), 1).value().values;
  EXPECT_EQ(book_.drawn(), kRows);
  EXPECT_TRUE(at::equal(Release(*mechanism, at::Tensor(), 2).value().values, first));
  EXPECT_EQ(book_.drawn(), kRows);
  const auto resumed = Make(1, 9);
  resumed->Remember(DistinctInputs(kRows, 0), first);
  EXPECT_TRUE(at::equal(Release(*resumed, Middle(), 1).value().values, first));
  EXPECT_EQ(book_.drawn(), kRows);
}

TEST_F(RandomizedResponseTest, RowWithoutASecondCandidateIsRefused) {
  at::Tensor candidates = Middle();
  candidates[3].fill_(false);
  candidates[3][2] = true;
  EXPECT_EQ(Release(*Make(1), candidates, 1).status().code(), StatusCode::refused);
  EXPECT_EQ(Release(*Make(1), Middle(2), 1).status().code(), StatusCode::refused);
}

TEST_F(RandomizedResponseTest, EnsembleAndRepeatedStepAreRefused) {
  FixedTeacher ensemble(Logits().expand({3, kRows, kClasses}));
  EXPECT_EQ(ChargeAndRelease(*Make(1), Oracle::Ask(ensemble, {DistinctInputs(kRows, 0), {}, 1}), book_)
                .status()
                .code(),
            StatusCode::refused);
  const auto mechanism = Make(1);
  ASSERT_TRUE(Release(*mechanism, Middle(), 1).ok());
  EXPECT_EQ(Release(*mechanism, Middle(), 1, 7).status().code(), StatusCode::refused);
}

TEST_F(RandomizedResponseTest, EpsilonOutsideItsRangeIsRefused) {
  for (const double epsilon : {0.0, -1.0, 1e-7, 701.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(
        RandomizedResponse::Create({epsilon, 5, 5}, noise::NoiseKey::FromOperatingSystem()).status().code(),
        StatusCode::usage);
  }
}

TEST_F(RandomizedResponseTest, EventIsAccountedAtTwoChoices) {
  const auto secure =
      RandomizedResponse::Create({2, kClasses, kRows}, noise::NoiseKey::FromOperatingSystem()).value();
  const privacy::PrivacyEvent event = secure->Describe(300);
  EXPECT_EQ(event.choices, 2);
  EXPECT_EQ(event.count, 300);
  EXPECT_EQ(event.source, privacy::NoiseSource::secure_lattice);
  EXPECT_EQ(Make(2)->Describe(1).source, privacy::NoiseSource::seeded);
  const privacy::Bound bound = privacy::BoundFor(privacy::kTeacher, {event}, 1e-5, nullptr);
  EXPECT_NEAR(bound.epsilon, privacy::ComposedResponseEpsilon(2, 2, 300, 1e-5), 1.1e-3);
  EXPECT_NEAR(privacy::BoundFor(privacy::kAnswer, {event}, 1e-5, nullptr).epsilon, 2, 1e-3);
  EXPECT_TRUE(privacy::DecodeEvent(privacy::EncodeEvent(event)).value().SameMechanism(event));
}

// p / ((1 - p) / (k - 1)) as the thresholds make it, in extended precision: e^e0 at most, and hardly less.
TEST(LeaveThreshold, NeverPromisesLessPrivacyThanItsEpsilon) {
  for (const std::int64_t k : {2, 3, 10, 1000}) {
    for (const double epsilon : {1e-6, 0.01, 1.0, 5.0, 10.0, 30.0}) {
      const long double leave = std::ldexp(static_cast<long double>(LeaveThreshold(epsilon, k)), -64);
      const long double ratio = (1 - leave) * static_cast<long double>(k - 1) / leave;
      EXPECT_LE(std::log(ratio), static_cast<long double>(epsilon)) << k << " " << epsilon;
      EXPECT_GE(std::log(ratio), static_cast<long double>(epsilon) - (epsilon > 20 ? 1e-4L : 1e-9L))
          << k << " " << epsilon;
    }
    EXPECT_EQ(LeaveThreshold(700, k), 1u);
  }
}

}  // namespace
}  // namespace retort::worker::release
