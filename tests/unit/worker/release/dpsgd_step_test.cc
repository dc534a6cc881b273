#include "worker/release/dpsgd_step.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/worker/noise/lattice_noise.h"
#include "tests/unit/worker/release/release_fixture.h"

namespace retort::worker::release {
namespace {

class DpSgdStepTest : public ::testing::Test {
 protected:
  DpSgdStep Make(double multiplier = 2) {
    DpSgdSettings settings;
    settings.norm_bound = 0.5;
    settings.noise_multiplier = multiplier;
    settings.sampling_rate = 0.25;
    settings.batch = 8;
    settings.coordinates = 4;
    return DpSgdStep::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
  }
  // The released vector less the noise that the seeded key gives: the clipped sum itself.
  at::Tensor ComputeSum(const at::Tensor& gradients, std::vector<std::int64_t> layers = {}) {
    DpSgdStep mechanism = Make();
    ClippedSum sum = mechanism.NewSum(std::move(layers));
    sum.Add(gradients);
    auto charge = book_.Take(mechanism.Describe(1), 1);
    const at::Tensor noise =
        LatticeNoise(noise::NoiseKey::FromSeed(1, TrialId(1)), {3, noise::Purpose::dpsgd}, 0.5, 1.0, {4});
    return mechanism.Release(std::move(sum), 3, std::move(charge).value()).value() - noise;
  }
  MemoryPort port_;
  ChargeBook book_{&port_, 1, 1000};
};

TEST_F(DpSgdStepTest, LongGradientsAreClippedAndShortOnesKept) {
  const at::Tensor gradients = at::tensor({3.0f, 4.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.1f, 0.0f}).reshape({2, 4});
  EXPECT_TRUE(at::allclose(ComputeSum(gradients), at::tensor({0.3f, 0.4f, 0.1f, 0.0f}), 1e-5, 1e-6));
}

// Layers of one and three coordinates, each clipped to 0.5 / sqrt(2) = 0.353553.
TEST_F(DpSgdStepTest, EachLayerIsClippedByItself) {
  const at::Tensor gradients = at::tensor({3.0f, 0.0f, 0.3f, 0.0f, 0.1f, 0.0f, 6.0f, 8.0f}).reshape({2, 4});
  const double c = 0.5 / std::sqrt(2.0);
  const at::Tensor expected = at::tensor({c + 0.1, 0.0, 0.3 + 0.6 * c, 0.8 * c}, at::kFloat);
  EXPECT_TRUE(at::allclose(ComputeSum(gradients, {1, 3}), expected, 1e-5, 1e-6));
}

TEST_F(DpSgdStepTest, PerLayerClippingKeepsTheTotalBound) {
  for (const std::vector<std::int64_t>& layers : {std::vector<std::int64_t>{1, 3}, {2, 2}, {1, 1, 1, 1}, {4}}) {
    const at::Tensor whole = ComputeSum(at::full({1, 4}, 100.0f), layers);
    EXPECT_NEAR(whole.norm().item<double>(), 0.5, 1e-5) << layers.size();
  }
}

TEST_F(DpSgdStepTest, OneBadLayerSilencesTheWholeExample) {
  at::Tensor gradients = at::full({2, 4}, 0.1f);
  gradients[1][3] = std::nan("");
  EXPECT_TRUE(at::allclose(ComputeSum(gradients, {1, 3}), at::full({4}, 0.1f), 1e-5, 1e-6));
}

TEST_F(DpSgdStepTest, ExampleWithNonFiniteGradientCountsAsZero) {
  at::Tensor gradients = at::full({3, 4}, 0.1f);
  gradients[1][2] = std::nan("");
  gradients[2][0] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(at::allclose(ComputeSum(gradients), at::full({4}, 0.1f), 1e-5, 1e-6));
}

TEST_F(DpSgdStepTest, OuterProductsAreClippedLikeTheirGradients) {
  at::Tensor left = at::randn({40, 2}), right = at::randn({40, 2});
  left.narrow(0, 0, 10).mul_(0.1);  // some stay below the bound
  left[11][1] = std::nan("");
  right[12][0] = std::numeric_limits<float>::infinity();
  left[13].zero_();
  ClippedSum outer = Make().NewSum(), whole = Make().NewSum();
  outer.AddOuter(left, right);
  whole.Add((left.unsqueeze(2) * right.unsqueeze(1)).reshape({40, 4}));
  const auto released = [this](ClippedSum sum) {
    DpSgdStep mechanism = Make();
    return mechanism.Release(std::move(sum), 3, book_.Take(mechanism.Describe(1), 1).value()).value();
  };
  // 40 examples, rounded to a part in 2^15 of each factor.
  EXPECT_TRUE(at::allclose(released(std::move(outer)), released(std::move(whole)), 0, 40 * 0.5 * 0x1p-14));
}

TEST_F(DpSgdStepTest, OuterProductOfAnyLengthMovesTheSumByTheBoundAtMost) {
  for (const float scale : {1e-6f, 1.0f, 1e6f, 1e18f, 1e30f}) {
    ClippedSum sum = Make().NewSum();
    sum.AddOuter(at::tensor({3.0f, 4.0f}).view({1, 2}) * scale, at::tensor({1.0f, 1.0f}).view({1, 2}) * scale);
    DpSgdStep mechanism = Make();
    const at::Tensor noise =
        mechanism.Release(mechanism.NewSum(), 3, book_.Take(mechanism.Describe(1), 1).value()).value();
    DpSgdStep again = Make();
    const at::Tensor released = again.Release(std::move(sum), 3, book_.Take(again.Describe(1), 1).value()).value();
    EXPECT_LE((released - noise).norm().item<double>(), 0.5 * (1 + 1e-5)) << scale;
  }
}

TEST_F(DpSgdStepTest, EventOfAStepOverAllExamplesAssumesNoSampling) {
  DpSgdSettings settings;
  settings.coordinates = 4;
  settings.sampling_rate = 1;
  const auto make = [&] { return DpSgdStep::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value(); };
  EXPECT_EQ(make().Describe(1).assumptions, std::vector<std::string>());
  settings.sampling_rate = 0.5;
  EXPECT_EQ(make().Describe(1).assumptions, std::vector<std::string>{"poisson-sampling"});
}

TEST_F(DpSgdStepTest, EmptyPoissonSampleReleasesNoiseAlone) {
  EXPECT_TRUE(at::allclose(ComputeSum(at::empty({0, 4})), at::zeros({4}), 0, 1e-6));
}

TEST_F(DpSgdStepTest, SumClippedForALargerBoundIsRefused) {
  DpSgdStep mechanism = Make();
  auto charge = book_.Take(mechanism.Describe(1), 1);
  DpSgdSettings larger;
  larger.norm_bound = 0.6;
  larger.noise_multiplier = 2;
  larger.coordinates = 4;
  ClippedSum sum = DpSgdStep::Create(larger, noise::NoiseKey::FromSeed(1, TrialId(1))).value().NewSum();
  EXPECT_EQ(mechanism.Release(std::move(sum), 1, std::move(charge).value()).status().code(), StatusCode::refused);
}

TEST_F(DpSgdStepTest, StepThatDoesNotGrowIsRefused) {
  DpSgdStep mechanism = Make();
  ASSERT_TRUE(mechanism.Release(mechanism.NewSum(), 7, book_.Take(mechanism.Describe(1), 1).value()).ok());
  EXPECT_FALSE(mechanism.Release(mechanism.NewSum(), 7, book_.Take(mechanism.Describe(1), 1).value()).ok());
}

TEST_F(DpSgdStepTest, EventSaysSensitivityNoiseAndSamplingRate) {
  const privacy::PrivacyEvent event = Make().Describe(80);
  EXPECT_EQ(event.kind, privacy::MechanismKind::subsampled_gaussian);
  EXPECT_EQ(event.unit, privacy::EventUnit::step);
  EXPECT_EQ(event.count, 80);
  EXPECT_EQ(event.sensitivity, 0.5);
  EXPECT_EQ(event.noise_std, 1.0);
  EXPECT_EQ(event.sampling_rate, 0.25);
  EXPECT_EQ(event.noise_coordinates, 4);
}

TEST_F(DpSgdStepTest, NoNoiseIsRefused) {
  DpSgdSettings settings;
  settings.coordinates = 4;
  settings.noise_multiplier = 0;
  EXPECT_EQ(DpSgdStep::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).status().code(), StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker::release
