#include "worker/release/label_response.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/worker/release/release_fixture.h"

namespace retort::worker::release::label_response_test {
namespace {

constexpr std::int64_t kClasses = 4, kLabels = 12;

PrivateLabels Labels() { return PrivateLabels(at::arange(kLabels, at::kLong).remainder(kClasses)); }

std::unique_ptr<LabelResponse> Make(double epsilon0, std::vector<std::int64_t> parts = {kLabels},
                                    LabelNoise noise = LabelNoise::response) {
  return LabelResponse::Create({noise, epsilon0, kClasses, std::move(parts)}, noise::NoiseKey::FromSeed(1, TrialId(1)))
      .value();
}

at::Tensor Rows(std::int64_t first, std::int64_t count) { return at::arange(first, first + count, at::kLong); }

class LabelResponseTest : public ::testing::Test {
 protected:
  Charge Pay(const LabelResponse& mechanism, std::size_t part) {
    const privacy::PrivacyEvent event = mechanism.Describe(part);
    return book_.Take(event, event.count).value();
  }
  Result<at::Tensor> Respond(LabelResponse& mechanism, std::size_t part, const at::Tensor& rows, std::int64_t step,
                             const at::Tensor& candidates = {}) {
    const at::Tensor all = at::ones({rows.numel(), kClasses}, at::kBool);
    return mechanism.Respond(labels_, part, rows, candidates.defined() ? candidates : all, step, Pay(mechanism, part));
  }
  MemoryPort port_;
  ChargeBook book_{&port_, 1, 1 << 20};
  PrivateLabels labels_ = Labels();
};

TEST(SealedLabels, ImagesAreLeftWithoutALabel) {
  const UnlabelledExamples sealed = SealLabels(Examples(at::randn({3, 1, 4, 4}), at::tensor({1, 0, 2}, at::kLong)));
  EXPECT_TRUE(at::equal(sealed.images.labels, at::full({3}, -1, at::kLong)));
  EXPECT_EQ(sealed.labels.size(), 3);
}

TEST_F(LabelResponseTest, AtALargeEpsilonTheLabelsThemselvesLeave) {
  const auto mechanism = Make(60);
  EXPECT_TRUE(at::equal(Respond(*mechanism, 0, Rows(0, kLabels), 0).value(),
                        at::arange(kLabels, at::kLong).remainder(kClasses)));
}

TEST_F(LabelResponseTest, AnswersAreAmongTheCandidates) {
  const auto mechanism = Make(0.5);
  at::Tensor candidates = at::zeros({kLabels, kClasses}, at::kBool);
  candidates.select(1, 1).fill_(true);
  candidates.select(1, 3).fill_(true);
  const at::Tensor answers = Respond(*mechanism, 0, Rows(0, kLabels), 0, candidates).value();
  EXPECT_TRUE(((answers == 1) | (answers == 3)).all().item<bool>());
}

TEST_F(LabelResponseTest, SingleCandidateIsTheAnswerWhateverTheLabel) {
  const auto mechanism = Make(1);
  at::Tensor candidates = at::zeros({kLabels, kClasses}, at::kBool);
  candidates.select(1, 2).fill_(true);
  EXPECT_TRUE((Respond(*mechanism, 0, Rows(0, kLabels), 0, candidates).value() == 2).all().item<bool>());
}

TEST_F(LabelResponseTest, LabelLeavesOnce) {
  const auto mechanism = Make(1, {6, 2, 4});
  ASSERT_TRUE(Respond(*mechanism, 0, Rows(0, 6), 0).ok());
  EXPECT_EQ(Respond(*mechanism, 1, Rows(5, 2), 1).status().code(), StatusCode::refused);
  EXPECT_EQ(Respond(*mechanism, 1, at::tensor({7, 7}, at::kLong), 2).status().code(), StatusCode::refused);
  EXPECT_TRUE(Respond(*mechanism, 2, Rows(8, 4), 3).ok());
}

TEST_F(LabelResponseTest, EmptyRowsAndRepeatedStepsAreRefused) {
  const auto mechanism = Make(1, {2, 2});
  EXPECT_EQ(Respond(*mechanism, 0, Rows(0, 2), 0, at::zeros({2, kClasses}, at::kBool)).status().code(),
            StatusCode::refused);
  ASSERT_TRUE(Respond(*mechanism, 0, Rows(0, 2), 1).ok());
  EXPECT_EQ(Respond(*mechanism, 1, Rows(2, 2), 1).status().code(), StatusCode::refused);
}

TEST_F(LabelResponseTest, ChargeForAnotherPartAndRowsOfNoPartAreRefused) {
  const auto mechanism = Make(1, {3, 3});
  const at::Tensor all = at::ones({3, kClasses}, at::kBool);
  EXPECT_EQ(mechanism->Respond(labels_, 0, Rows(0, 3), all, 0, Pay(*mechanism, 1)).status().code(),
            StatusCode::refused);
  EXPECT_EQ(Respond(*mechanism, 0, Rows(0, 2), 1).status().code(), StatusCode::refused);
  EXPECT_EQ(mechanism->Respond(labels_, 2, Rows(0, 3), all, 2, Pay(*mechanism, 0)).status().code(),
            StatusCode::refused);
}

TEST_F(LabelResponseTest, LaplaceNoiseUnderAResponsesEventIsRefused) {
  const auto mechanism = Make(1);
  EXPECT_EQ(mechanism->AddLaplace(labels_, 0, Rows(0, kLabels), 0, Pay(*mechanism, 0)).status().code(),
            StatusCode::refused);
}

TEST_F(LabelResponseTest, NoisyOneHotVectorsAreOneHotAtALargeEpsilon) {
  const auto mechanism = Make(700, {kLabels}, LabelNoise::laplace);
  const at::Tensor noisy = mechanism->AddLaplace(labels_, 0, Rows(0, kLabels), 0, Pay(*mechanism, 0)).value();
  const at::Tensor hot = at::one_hot(at::arange(kLabels, at::kLong).remainder(kClasses), kClasses).to(at::kFloat);
  EXPECT_TRUE(at::allclose(noisy, hot, 0, 0.1));
  EXPECT_FALSE(at::equal(noisy, hot));
}

TEST_F(LabelResponseTest, EventSaysEpsilonOfOneLabelAndWhichPart) {
  const privacy::PrivacyEvent event = Make(1.5, {7, 5})->Describe(1);
  EXPECT_EQ(event.kind, privacy::MechanismKind::label_response);
  EXPECT_EQ(event.count, 5);
  EXPECT_EQ(event.rows_per_batch, 5);
  EXPECT_EQ(event.epsilon0, 1.5);
  EXPECT_FALSE(event.SameMechanism(Make(1.5, {7, 5})->Describe(0)));
}

TEST(LabelResponseSettings, EpsilonOutOfRangeIsAUsageError) {
  for (const double epsilon0 : {0.0, -1.0, 701.0, std::nan("")})
    EXPECT_EQ(LabelResponse::Create({.epsilon0 = epsilon0}, noise::NoiseKey::FromSeed(1, TrialId(1))).status().code(),
              StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker::release::label_response_test
