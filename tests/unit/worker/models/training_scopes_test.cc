#include "worker/models/training_scopes.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

namespace retort::worker {
namespace {

const at::Device kGpu(at::kCUDA, 0);

bool AllowsTf32() { return at::globalContext().allowTF32CuBLAS() || at::globalContext().allowTF32CuDNN(); }
bool AllowsTf32Everywhere() { return at::globalContext().allowTF32CuBLAS() && at::globalContext().allowTF32CuDNN(); }

class Tf32 : public ::testing::Test {
 protected:
  void SetUp() override {  // as PrepareTorch
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setAllowTF32CuBLAS(false);
  }
};

TEST_F(Tf32, HoldsForTheScopeOnAGpu) {
  {
    const Tf32Scope scope(Precision::tf32, kGpu);
    EXPECT_TRUE(AllowsTf32Everywhere());
  }
  EXPECT_FALSE(AllowsTf32());
}

TEST_F(Tf32, IsFloat32OnACpuAndForOtherPrecisions) {
  const Tf32Scope on_cpu(Precision::tf32, at::kCPU), plain(Precision::float32, kGpu), half(Precision::bfloat16, kGpu);
  EXPECT_FALSE(AllowsTf32());
  const at::Tensor a = at::sin(at::arange(64 * 64, at::kFloat)).view({64, 64});
  EXPECT_TRUE(at::equal(at::mm(a, a), [&] {
    const AutocastScope scope(Precision::tf32, at::kCPU);
    return at::mm(a, a);
  }()));
}

TEST_F(Tf32, LeavesProductsOfTheCpuAsTheyAre) {
  const at::Tensor a = at::sin(at::arange(128 * 128, at::kFloat)).view({128, 128});
  const at::Tensor before = at::mm(a, a);
  const Tf32Scope scope(Precision::tf32, kGpu);
  EXPECT_TRUE(at::equal(at::mm(a, a), before));
}

TEST_F(Tf32, ChannelsAreLastWhereTensorCoresCompute) {
  EXPECT_TRUE(PrefersChannelsLast(at::kCPU));
  EXPECT_FALSE(PrefersChannelsLast(kGpu));
  {
    const Tf32Scope scope(Precision::tf32, kGpu);
    EXPECT_TRUE(PrefersChannelsLast(kGpu));
  }
  {
    const AutocastScope scope(Precision::bfloat16, kGpu);
    EXPECT_TRUE(PrefersChannelsLast(kGpu));
    EXPECT_TRUE(PrefersChannelsLast(at::kCPU));
  }
  EXPECT_FALSE(PrefersChannelsLast(kGpu));
}

}  // namespace
}  // namespace retort::worker
