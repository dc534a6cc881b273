#include "worker/training/per_sample_gradients.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "worker/models/model_registry.h"
#include "worker/tensors/autograd.h"
#include "worker/training/poisson_sample.h"

namespace retort::worker {
namespace {

at::Tensor Flattened(const std::vector<at::Tensor>& gradients) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& gradient : gradients) parts.push_back(gradient.flatten());
  return at::cat(parts);
}

TEST(PerSampleGradients, EqualOneBackwardPassForEachExample) {
  for (const std::string name : {"datalens", "datalens-x0.125", "tanh-cnn", "logistic"}) {
    const auto network = std::move(MakeNetwork(name, {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
    const at::Tensor images = at::randn({5, 1, 28, 28}), labels = at::randint(10, {5}, at::kLong);
    const at::Tensor got = ComputePerSampleGradients(*network, images, labels);
    ASSERT_EQ(got.size(1), network->parameters().parameter_count());
    for (std::int64_t i = 0; i < 5; ++i) {
      const at::Tensor loss =
          at::cross_entropy_loss(network->Forward(images.narrow(0, i, 1)).logits, labels.narrow(0, i, 1));
      const at::Tensor want = Flattened(ComputeVectorJacobian({loss}, {at::ones({})}, network->parameters().leaves()));
      EXPECT_TRUE(at::allclose(got[i], want, 1e-3, 1e-6)) << name << " row " << i;
    }
  }
}

TEST(SpreadGradient, PutsEveryParameterInItsPlace) {
  auto network = std::move(MakeNetwork("tanh-cnn", {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
  ParameterArena& parameters = network->parameters();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& leaf : parameters.leaves()) gradients.push_back(at::randn(leaf.sizes()));
  parameters.Gather(gradients);
  const at::Tensor want = parameters.gradient().clone();
  parameters.gradient().zero_();
  SpreadGradient(Flattened(gradients), parameters);
  EXPECT_TRUE(parameters.gradient().equal(want));
}

TEST(PoissonSample, TakesEachExampleAtItsRate) {
  for (const NoiseMode mode : {NoiseMode::secure, NoiseMode::seeded}) {
    double taken = 0;
    for (std::int64_t step = 0; step < 50; ++step) {
      taken += static_cast<double>(DrawPoissonSample(2000, 0.1, mode, 1, step).size(0));
    }
    EXPECT_NEAR(taken / 100'000, 0.1, 0.006);
  }
}

TEST(PoissonSample, IsSecretUnlessSeeded) {
  EXPECT_TRUE(
      DrawPoissonSample(500, 0.5, NoiseMode::seeded, 1, 3).equal(DrawPoissonSample(500, 0.5, NoiseMode::seeded, 1, 3)));
  EXPECT_FALSE(at::equal(DrawPoissonSample(500, 0.5, NoiseMode::secure, 1, 3),
                         DrawPoissonSample(500, 0.5, NoiseMode::secure, 1, 3)));
}

TEST(PoissonSample, RateOneTakesEverything) {
  EXPECT_EQ(DrawPoissonSample(77, 1, NoiseMode::secure, 1, 0).size(0), 77);
}

}  // namespace
}  // namespace retort::worker
