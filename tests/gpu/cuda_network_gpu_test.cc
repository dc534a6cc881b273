// Every network on cuda:0, differentiated by its weights and by its images: the gradients of the CPU, and the
// same bits again. Exits with 77, which ctest reports as skipped, when there is no device.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <vector>

#include "experiments/methods/networks.h"
#include "tests/gpu/the_devices.h"
#include "tests/gpu/without_device.h"
#include "worker/models/model_registry.h"
#include "worker/run/worker_service.h"
#include "worker/tensors/autograd.h"

namespace retort {

void PrintTo(const NamedNetwork& network, std::ostream* out) { *out << network.name; }

namespace worker {
namespace {

constexpr std::int64_t kClasses = 10, kRows = 4;
const at::Device kCuda(at::kCUDA, 0);

ImageShape ShapeFor(const NamedNetwork& network) {
  // Odd where the network takes it, so that no window divides it.
  const std::int64_t least = std::max<std::int64_t>(network.min_extent, 33);
  const std::int64_t side = (least + network.multiple - 1) / network.multiple * network.multiple;
  return {network.channels == 0 ? 3 : network.channels, side, side};
}

at::Tensor Images(const ImageShape& shape) {
  const std::int64_t values = kRows * shape.size();
  return at::arange(values, at::kDouble)
      .add(1)
      .sin()
      .to(at::kFloat)
      .view({kRows, shape.channels, shape.height, shape.width});
}

std::unique_ptr<Network> Make(const NamedNetwork& network, at::Device device) {
  auto made =
      MakeNetwork(std::string(network.name), ShapeFor(network), kClasses, RngStream(1, Purpose::parameters), device);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

// Logits, then gradients of their weighted sum by the images and by the weights, on the CPU.
std::vector<at::Tensor> Differentiated(Network& network, at::Device device, bool training) {
  std::vector<at::Tensor> leaves = {Images(network.input()).to(device).requires_grad_(true)};
  for (const at::Tensor& leaf : network.parameters().leaves()) leaves.push_back(leaf);
  const at::Tensor logits =
      training ? network.Train(leaves[0], std::nullopt).logits : network.Forward(leaves[0]).logits;
  const at::Tensor weights = at::arange(logits.numel(), at::kDouble).add(2).cos().to(at::kFloat).view(logits.sizes());
  std::vector<at::Tensor> all = {logits.detach().cpu()};
  for (const at::Tensor& gradient : ComputeVectorJacobian({logits}, {weights.to(device)}, leaves))
    all.push_back(gradient.defined() ? gradient.cpu() : at::Tensor());
  return all;
}

double Apart(const at::Tensor& got, const at::Tensor& want) {
  return (got - want).norm().item<double>() / std::max(want.norm().item<double>(), 1e-6);
}

// Rounding in another order, which depth and rectifiers at their kinks enlarge: 0.015 was the most that was
// seen.
constexpr double kTolerance = 0.05;

class CudaNetwork : public ::testing::TestWithParam<NamedNetwork> {};

TEST_P(CudaNetwork, HasTheGradientsOfTheCpu) {
  const auto here = Differentiated(*Make(GetParam(), at::kCPU), at::kCPU, /*training=*/false);
  const auto there = Differentiated(*Make(GetParam(), kCuda), kCuda, /*training=*/false);
  ASSERT_EQ(there.size(), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    ASSERT_EQ(there[i].defined(), here[i].defined()) << i;
    if (!here[i].defined()) continue;
    EXPECT_LT(Apart(there[i], here[i]), kTolerance) << "tensor " << i << " of " << here.size();
  }
}

TEST_P(CudaNetwork, LearnsWithTheSameBitsAgain) {
  const auto first = Differentiated(*Make(GetParam(), kCuda), kCuda, /*training=*/true);
  const auto again = Differentiated(*Make(GetParam(), kCuda), kCuda, /*training=*/true);
  ASSERT_EQ(again.size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!first[i].defined()) continue;
    EXPECT_TRUE(again[i].equal(first[i])) << "tensor " << i << " of " << first.size();
  }
}

INSTANTIATE_TEST_SUITE_P(Every, CudaNetwork, ::testing::ValuesIn(kNamedNetworks), [](const auto& test) {
  std::string name(test.param.name);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace worker
}  // namespace retort

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  retort::worker::PrepareTorch();
  const auto opened = retort::worker::TheDevices().Open("cuda:0");
  if (!opened.ok()) return retort::worker::WithoutDevice(opened.status());
  return RUN_ALL_TESTS();
}
