#include "worker/cuda_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::worker {
namespace {

using testing::HasSubstr;

TEST(CudaPlugin, MissingLibraryIsAnErrorThatNamesIt) {
  const auto plugin = LoadCudaPlugin("/nowhere/libretort_cuda.so");
  ASSERT_FALSE(plugin.ok());
  EXPECT_EQ(plugin.status().code(), StatusCode::environment);
  EXPECT_THAT(plugin.status().message(), HasSubstr("/nowhere/libretort_cuda.so"));
}

TEST(CudaPlugin, AnotherLibraryIsNotTakenForThePlugin) {
  const auto plugin = LoadCudaPlugin("libm.so.6");
  ASSERT_FALSE(plugin.ok());
  EXPECT_THAT(plugin.status().message(), HasSubstr("not Retort's CUDA library"));
}

}  // namespace
}  // namespace retort::worker
