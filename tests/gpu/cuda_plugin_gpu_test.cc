// libretort_cuda.so on a real device. Exits with 77, which ctest reports as skipped, when there is none.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <span>
#include <utility>

#include "tests/gpu/without_device.h"
#include "tests/unit/worker/gang/collective_contract.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/devices/cuda_plugin.h"
#include "worker/gang/collective_decorators.h"
#include "worker/gang/gang_store.h"
#include "worker/gang/gloo_collective.h"
#include "worker/noise/lattice_normal.h"
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
  at::Tensor out = at::empty({count}, at::kDouble);
  noise::FillLatticeNormal(Key(), kStream, 0, scale,
                           std::span(out.data_ptr<double>(), static_cast<std::size_t>(count)));
  return out;
}

TEST(CudaPlugin, NoiseHasTheSameBitsAsOnTheCpu) {
  for (const std::int64_t count : {1, 7, 8, 1023, 1 << 20}) {
    for (const double scale : {0.39, 0x1p29, 0x1p40}) {  // at the last, one draw in 25 takes further bits
      at::Tensor out = at::zeros({count}, kOnDevice.dtype(at::kDouble));
      const Status status = Plugin()->FillLatticeNormal(Key(), kStream, scale, out);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(at::equal(out.cpu(), OnCpu(count, scale))) << count << " " << scale;
    }
  }
}

TEST(CudaPlugin, FusedKernelHasTheSameBitsAsOnTheCpu) {
  noise::HostNoise host;
  for (const std::int64_t classes : {2, 10, 33, 100, 1000}) {
    at::Tensor gradient = at::sin(at::arange(256 * classes, at::kFloat)).reshape({256, classes});
    gradient[1][0] = std::nan("");
    gradient[2][1] = std::numeric_limits<float>::infinity();
    gradient[3].zero_();
    at::Tensor values = at::empty({256, classes}, kOnDevice), expected = at::empty({256, classes}, at::kFloat);
    const noise::LatticeRows rows{0x1p-39, 0x1p29, 0x1p29 + 100, 1e-4, 0x1p27};
    const Status status = Plugin()->NormaliseAndNoise(gradient.to(kOnDevice), rows, Key(), kStream, values);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(host.NormaliseAndNoise(gradient, rows, Key(), kStream, expected).ok());
    EXPECT_TRUE(at::equal(values.cpu(), expected)) << classes;
  }
}

// Answers that lie on the device are noised there: what leaves has the bits of the CPU's noise.
TEST(CudaPlugin, ReleaseOfAnswersOnTheDeviceHasTheNoiseOfTheCpu) {
  const at::Tensor logits = at::sin(at::arange(64 * 10, at::kFloat)).reshape({64, 10});
  for (const Reading reading : {Reading::working, Reading::stated, Reading::row_averaged, Reading::printed}) {
    const auto release = [&](const at::TensorOptions& where, noise::NoiseKernels* kernels) {
      release::GradientSettings settings;
      settings.reading = reading;
      settings.batch = 64;
      auto mechanism = release::GaussianGradient::Create(settings, Key(), kernels).value();
      const at::Tensor there = logits.to(where);  // student and teacher agree: all that leaves is noise
      release::FixedTeacher teacher(there);
      release::MemoryPort port;
      release::ChargeBook book(&port, 1, 1000);
      const auto answers = release::Oracle::Ask(teacher, {release::DistinctInputs(64, 0).to(where), there, 0});
      return release::ChargeAndRelease(*mechanism, answers, book).value().values;
    };
    const at::Tensor values = release(kOnDevice, Plugin().get());
    EXPECT_TRUE(values.is_cuda());
    EXPECT_TRUE(at::equal(values.cpu(), release(at::TensorOptions(at::kFloat), nullptr)));
  }
}

// One device holds one NCCL member: a gang of one exercises the whole interface. `kind`: of the members'
// tensors; those of the CPU take part by way of the device.
GangMaker Nccl(const char* name, at::DeviceType kind) {
  return {name, 1, [](int) { return std::shared_ptr<GangStore>(OpenGangStore("127.0.0.1").value()); },
          [kind](const std::shared_ptr<void>& meeting, int rank, int size) -> std::unique_ptr<Collective> {
            GangMembership membership;
            membership.rank = {rank};
            membership.size = size;
            membership.address = std::static_pointer_cast<GangStore>(meeting)->address();
            membership.host = "127.0.0.1";
            membership.deadline = std::chrono::seconds(60);
            auto joined = Plugin()->JoinNcclGang(membership, 0);
            EXPECT_TRUE(joined.ok()) << joined.status().message();
            if (!joined.ok()) return nullptr;
            return kind == at::kCPU ? StageOn(at::Device(at::kCUDA, 0), std::move(*joined)) : std::move(*joined);
          },
          kind};
}

INSTANTIATE_TEST_SUITE_P(Implementations, CollectiveContract,
                         ::testing::Values(Nccl("Nccl1", at::kCUDA), Nccl("Nccl1FromTheCpu", at::kCPU)),
                         [](const auto& maker) { return maker.param.name; });

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  auto loaded = retort::worker::LoadCudaPlugin(RETORT_CUDA_LIBRARY);
  if (!loaded.ok()) {
    return retort::worker::WithoutDevice(loaded.status());
  }
  retort::worker::Plugin() = std::move(loaded).value();
  const int result = RUN_ALL_TESTS();
  retort::worker::Plugin().reset();
  return result;
}
