// libretort_cuda.so of this build: it has to load wherever the libraries that it needs are, device or not. A
// program of its own, since LibTorch's CUDA half stays once it is loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cluster/worker_questions.h"
#include "worker/devices/cuda_plugin.h"
#include "worker/devices/devices.h"

namespace retort::worker {
namespace {

using ::testing::EndsWith;

constexpr const char* kNoDevice = "No GPU support: the driver shows no device.";

bool WithoutTorchsLibraries(const Status& status) { return status.message().ends_with(kCudaRemedy); }

TEST(CudaPlugin, OfThisBuildLoadsAndCountsDevices) {
  Devices devices(RETORT_CUDA_LIBRARY);
  const Result<int> usable = devices.CountCuda();
  if (WithoutTorchsLibraries(usable.status())) GTEST_SKIP() << usable.status().message();
  if (!usable.ok()) {
    EXPECT_EQ(usable.status().message(), kNoDevice);
    EXPECT_EQ(devices.Open("cuda:0").status().message(), kNoDevice);
  } else {
    EXPECT_GE(*usable, 1);
  }
}

TEST(CudaPlugin, OfThisBuildIsFoundByTheWorkerThatTheAgentAsks) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  const Result<int> usable =
      cluster::CountUsableCuda(std::string(RETORT_BINARY_DIR) + "/bin/retort-worker", environment);
  if (WithoutTorchsLibraries(usable.status())) GTEST_SKIP() << usable.status().message();
  if (!usable.ok())
    EXPECT_THAT(usable.status().message(), EndsWith(kNoDevice));
  else
    EXPECT_GE(*usable, 1);
}

}  // namespace
}  // namespace retort::worker
