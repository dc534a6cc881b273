// libretort_cuda.so on a real device. Exits with 77, which ctest reports as skipped, when there is none.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <span>

#include "worker/cuda_plugin.h"
#include "worker/gang/gang_store.h"
#include "worker/noise/keyed_normal.h"
#include "worker/release/gaussian_gradient.h"

namespace retort::worker {
namespace {

// The one plugin of the process; loaded by main before any test runs.
std::unique_ptr<CudaPlugin>& Plugin() {
  static std::unique_ptr<CudaPlugin> plugin;
  return plugin;
}

const at::TensorOptions kOnDevice = at::TensorOptions(at::Device(at::kCUDA, 0)).dtype(at::kFloat);
constexpr noise::StreamId kStream{5, noise::Purpose::gradient};

noise::NoiseKey Key() { return noise::NoiseKey::FromSeed(8, TrialId(8)); }

at::Tensor OnCpu(std::int64_t count, double scale) {
  at::Tensor out = at::empty({count}, at::kFloat);
  noise::FillNormal(Key(), kStream, 0, scale,
                    std::span(out.data_ptr<float>(), static_cast<std::size_t>(count)));
  return out;
}

TEST(CudaPlugin, NoiseHasTheSameBitsAsOnTheCpu) {
  for (const std::int64_t count : {1, 7, 8, 1023, 1 << 20}) {
    at::Tensor out = at::zeros({count}, kOnDevice);
    const Status status = Plugin()->FillNormal(Key(), kStream, 0.39, out);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(at::equal(out.cpu(), OnCpu(count, 0.39))) << count;
  }
}

TEST(CudaPlugin, FusedKernelEqualsNormaliseThenNoise) {
  for (const std::int64_t classes : {2, 10, 100, 1000}) {
    const at::Tensor gradient = at::sin(at::arange(256 * classes, at::kFloat)).reshape({256, classes});
    at::Tensor values = at::empty({256, classes}, kOnDevice);
    const Status status =
        Plugin()->NormaliseAndNoise(gradient.to(kOnDevice), 1e-3, 1e-4, 4e-4, Key(), kStream, values);
    ASSERT_TRUE(status.ok()) << status.message();
    const at::Tensor expected = release::NormaliseGradient(gradient, Normalization::row, 1e-3, 1e-4) +
                                OnCpu(256 * classes, 4e-4).reshape({256, classes});
    EXPECT_TRUE(at::allclose(values.cpu(), expected, 1e-5, 1e-9)) << classes;
  }
}

// One device holds one NCCL member: a gang of one exercises the whole interface.
TEST(CudaPlugin, NcclGangOfOneDoesEveryOperation) {
  const auto store = OpenGangStore("127.0.0.1").value();
  auto joined =
      Plugin()->JoinNcclGang({{0}, 1, {1}, store->address(), "127.0.0.1", std::chrono::seconds(30)}, 0);
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  Collective& gang = **joined;
  EXPECT_EQ(gang.size(), 1);
  at::Tensor values = at::arange(1000, kOnDevice), votes = at::arange(1000, kOnDevice.dtype(at::kInt));
  EXPECT_TRUE(gang.AllReduceSum(values).ok());
  EXPECT_TRUE(gang.AllReduceSum(votes).ok());
  EXPECT_TRUE(gang.Broadcast(values, GangRank{0}).ok());
  EXPECT_TRUE(gang.Barrier().ok());
  const auto parts = gang.Gather(values, GangRank{0});
  ASSERT_TRUE(parts.ok());
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_TRUE(at::equal(parts->front().cpu(), at::arange(1000, at::kFloat)));
  EXPECT_TRUE(at::equal(votes.cpu(), at::arange(1000, at::kInt)));
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto loaded = retort::worker::LoadCudaPlugin(RETORT_CUDA_LIBRARY);
  if (!loaded.ok()) {
    std::printf("skipped: %s\n", loaded.status().message().c_str());
    return 77;
  }
  retort::worker::Plugin() = std::move(loaded).value();
  const int result = RUN_ALL_TESTS();
  retort::worker::Plugin().reset();
  return result;
}
