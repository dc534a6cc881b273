#include "worker/release/class_embedding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/worker/noise/lattice_noise.h"
#include "tests/unit/worker/release/release_fixture.h"

namespace retort::worker::release::class_embedding_test {
namespace {

constexpr std::int64_t kClasses = 3, kFeatures = 2;

ClassEmbedding Make(double multiplier = 2) {
  return ClassEmbedding::Create({multiplier, kClasses, kFeatures}, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
}

class ClassEmbeddingTest : public ::testing::Test {
 protected:
  // What is released, less the noise that the seeded key gives.
  at::Tensor ComputeSum(const at::Tensor& features, const at::Tensor& labels) {
    ClassEmbedding mechanism = Make();
    EmbeddingSum sum = mechanism.NewSum();
    sum.Add(features, labels);
    const at::Tensor noise = LatticeNoise(noise::NoiseKey::FromSeed(1, TrialId(1)), {0, noise::Purpose::embedding}, 1,
                                          2, {kClasses, kFeatures});
    return mechanism.Release(std::move(sum), 0, book_.Take(mechanism.Describe(1), 1).value()).value() - noise;
  }
  MemoryPort port_;
  ChargeBook book_{&port_, 1, 1000};
};

TEST_F(ClassEmbeddingTest, EveryExampleAddsToTheRowOfItsClass) {
  const at::Tensor features = at::tensor({0.6f, 0.8f, 0.0f, 1.0f, 0.5f, 0.0f}).reshape({3, 2});
  const at::Tensor sum = ComputeSum(features, at::tensor({2, 0, 2}, at::kLong));
  EXPECT_TRUE(at::allclose(sum, at::tensor({0.0f, 1.0f, 0.0f, 0.0f, 1.1f, 0.8f}).reshape({3, 2}), 1e-5, 1e-6));
}

TEST_F(ClassEmbeddingTest, LongFeaturesAreShortenedToNormOne) {
  const at::Tensor sum = ComputeSum(at::tensor({30.0f, 40.0f}).reshape({1, 2}), at::tensor({1}, at::kLong));
  EXPECT_TRUE(at::allclose(sum[1], at::tensor({0.6f, 0.8f}), 1e-5, 1e-6));
}

TEST_F(ClassEmbeddingTest, ExampleWithNonFiniteFeaturesCountsAsZero) {
  at::Tensor features = at::tensor({0.6f, 0.8f, 0.0f, 1.0f}).reshape({2, 2});
  features[1][0] = std::nan("");
  const at::Tensor sum = ComputeSum(features, at::tensor({0, 1}, at::kLong));
  EXPECT_TRUE(at::allclose(sum[0], at::tensor({0.6f, 0.8f}), 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(sum[1], at::zeros({2}), 0, 1e-6));
}

TEST_F(ClassEmbeddingTest, MoreExamplesThanASumHoldsExactlyAreRefused) {
  const at::Tensor features = at::ones({EmbeddingSum::kMaxExamples / 8, kFeatures}),
                   labels = at::zeros({features.size(0)}, at::kLong);
  for (const std::int64_t more : {0, 1}) {
    ClassEmbedding mechanism = Make();
    EmbeddingSum sum = mechanism.NewSum();
    for (int part = 0; part < 8; ++part) sum.Add(features, labels);
    sum.Add(features.narrow(0, 0, more), labels.narrow(0, 0, more));
    const auto released = mechanism.Release(std::move(sum), 0, book_.Take(mechanism.Describe(1), 1).value());
    EXPECT_EQ(released.ok(), more == 0);
  }
}

// What many examples add and take off again leaves what one more adds.
TEST_F(ClassEmbeddingTest, RoundingOfManyExamplesStaysBelowWhatOneAdds) {
  constexpr std::int64_t kMany = 30000;
  at::Tensor features = at::zeros({2 * kMany + 1, 2});
  features.narrow(0, 0, kMany).fill_(0.7001f);
  features.narrow(0, kMany, kMany).fill_(-0.7001f);
  features[2 * kMany][0] = 0.3001f;
  const at::Tensor sum = ComputeSum(features, at::zeros({2 * kMany + 1}, at::kLong));
  EXPECT_TRUE(at::allclose(sum[0], at::tensor({0.3001f, 0.0f}), 0, 1e-6));
}

TEST_F(ClassEmbeddingTest, EventIsAGaussianWithoutSubsampling) {
  const privacy::PrivacyEvent event = Make().Describe(1);
  EXPECT_EQ(event.kind, privacy::MechanismKind::subsampled_gaussian);
  EXPECT_EQ(event.sampling_rate, 1);
  EXPECT_EQ(event.sensitivity, 1);
  EXPECT_EQ(event.noise_std, 2);
  EXPECT_EQ(event.noise_coordinates, kClasses * kFeatures);
  EXPECT_EQ(event.source, privacy::NoiseSource::seeded);
}

TEST_F(ClassEmbeddingTest, SumOfAnotherShapeAndASecondDrawOfAStepAreRefused) {
  ClassEmbedding mechanism = Make();
  EXPECT_EQ(
      mechanism
          .Release(ClassEmbedding::Create({2, kClasses, 3}, noise::NoiseKey::FromSeed(1, TrialId(1))).value().NewSum(),
                   0, book_.Take(mechanism.Describe(1), 1).value())
          .status()
          .code(),
      StatusCode::refused);
  ASSERT_TRUE(mechanism.Release(mechanism.NewSum(), 1, book_.Take(mechanism.Describe(1), 1).value()).ok());
  EXPECT_EQ(mechanism.Release(mechanism.NewSum(), 1, book_.Take(mechanism.Describe(1), 1).value()).status().code(),
            StatusCode::refused);
}

TEST_F(ClassEmbeddingTest, ChargeForLessNoiseIsRefused) {
  ClassEmbedding mechanism = Make();
  EXPECT_EQ(mechanism.Release(mechanism.NewSum(), 0, book_.Take(Make(3).Describe(1), 1).value()).status().code(),
            StatusCode::refused);
}

}  // namespace
}  // namespace retort::worker::release::class_embedding_test
