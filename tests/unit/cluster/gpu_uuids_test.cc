#include "cluster/host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace retort::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The driver's files of GPUs of these models, on buses in reverse order of their creation.
class GpuUuidsTest : public ::testing::Test {
 protected:
  void Make(const std::vector<std::string>& models) {
    for (std::size_t i = models.size(); i-- > 0;) {
      const auto folder = path_ / ("0000:0" + std::to_string(i) + ":00.0");
      std::filesystem::create_directories(folder);
      std::ofstream(folder / "information") << "Model: \t\t " << models[i] << "\nIRQ:   \t 5\nGPU UUID: \t GPU-" << i
                                            << i << "aa-bb\nDevice Minor: \t " << models.size() - i << "\n";
    }
  }
  [[nodiscard]] std::vector<std::string> Uuids(const std::vector<std::string>& environment) const {
    return FindGpuUuids(environment, path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / ("retort-gpus-" + std::to_string(::getpid()));
};

TEST_F(GpuUuidsTest, EqualGpusAreInTheOrderOfTheirBuses) {
  Make({"H200", "H200", "H200"});
  EXPECT_THAT(Uuids({}), ElementsAre("GPU-00aa-bb", "GPU-11aa-bb", "GPU-22aa-bb"));
  EXPECT_THAT(FindGpuUuids({}, "/nonexistent"), IsEmpty());
}

TEST_F(GpuUuidsTest, TheMaskSelectsByOrdinalAndByBeginningOfTheUuid) {
  Make({"H200", "H200", "H200"});
  EXPECT_THAT(Uuids({"CUDA_VISIBLE_DEVICES=2,0"}), ElementsAre("GPU-22aa-bb", "GPU-00aa-bb"));
  EXPECT_THAT(Uuids({"CUDA_VISIBLE_DEVICES=GPU-11"}), ElementsAre("GPU-11aa-bb"));
  for (const char* const odd : {"CUDA_VISIBLE_DEVICES=7", "CUDA_VISIBLE_DEVICES=MIG-11", "CUDA_VISIBLE_DEVICES=0,-1"})
    EXPECT_THAT(Uuids({odd}), IsEmpty()) << odd;
}

TEST_F(GpuUuidsTest, DifferentModelsAreNamedOnlyWhenCudaOrdersThemByBus) {
  Make({"H200", "L4"});
  EXPECT_THAT(Uuids({}), IsEmpty());
  EXPECT_THAT(Uuids({"CUDA_DEVICE_ORDER=PCI_BUS_ID"}), ElementsAre("GPU-00aa-bb", "GPU-11aa-bb"));
}

}  // namespace
}  // namespace retort::cluster
