#include "worker/run/gang_formation.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/worker/twin_host.h"
#include "worker/devices/cuda_plugin.h"
#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

// Notes what it is told to expect.
class Listener final : public Collective {
 public:
  explicit Listener(std::vector<const void*>& expected) : expected_(expected) {}
  GangRank rank() const override { return {0}; }
  int size() const override { return 2; }
  Status AllReduceSum(at::Tensor& values) override { return alone_->AllReduceSum(values); }
  void Expect(const at::Tensor& values) override { expected_.push_back(values.const_data_ptr()); }
  Status Broadcast(at::Tensor& values, GangRank root) override { return alone_->Broadcast(values, root); }
  Result<std::vector<at::Tensor>> Gather(const at::Tensor& values, GangRank root) override {
    return alone_->Gather(values, root);
  }
  Result<std::vector<at::Tensor>> AllGather(const at::Tensor& values) override { return alone_->AllGather(values); }
  Status Barrier() override { return alone_->Barrier(); }

 private:
  std::vector<const void*>& expected_;
  std::unique_ptr<Collective> alone_ = MakeSoloCollective();
};

TEST(GangFormation, GangOfAWorkerListensAheadAsTheOneThatItIsMadeOf) {
  std::vector<const void*> expected;
  FakeTrialHost host;
  cluster::Start start;
  start.gang_size = 2;
  start.gang_host = "127.0.0.1";
  const DeviceMeeting meet = [&](const GangMembership&, const std::string&) {
    return Result<std::unique_ptr<Collective>>(std::make_unique<Listener>(expected));
  };
  const auto gang = FormGangOn(meet, start, Generation{1}, host);
  ASSERT_TRUE(gang.ok()) << gang.status().message();
  const at::Tensor values = at::ones({4});
  (*gang)->Expect(values);
  EXPECT_EQ(expected, std::vector<const void*>{values.const_data_ptr()});
}

using ::testing::HasSubstr;

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
