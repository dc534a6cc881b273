// The contract of every Collective where the members' tensors lie on devices, and where those of the CPU go
// there and back. Devices that are none: tests/testing/pretend_device.h.
#include <memory>
#include <utility>
#include <vector>

#include "tests/testing/pretend_device.h"
#include "tests/unit/worker/gang/collective_contract.h"
#include "tests/unit/worker/gang/devices_only.h"
#include "worker/gang/collective_decorators.h"
#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

GangMaker OnDevices(const char* name, at::DeviceType kind) {
  using Members = std::vector<std::unique_ptr<Collective>>;
  return {name, 3, [](int size) { return std::make_shared<Members>(MakeLocalGang(size, kContractDeadline)); },
          [kind](const std::shared_ptr<void>& meeting, int rank, int) -> std::unique_ptr<Collective> {
            auto& members = *std::static_pointer_cast<Members>(meeting);
            auto gang = std::make_unique<DevicesOnly>(std::move(members[static_cast<std::size_t>(rank)]));
            if (kind != at::kCPU) return gang;
            return StageOn(retort::testing::PretendDevice(rank), std::move(gang));
          },
          kind};
}

INSTANTIATE_TEST_SUITE_P(Devices, CollectiveContract,
                         ::testing::Values(OnDevices("OfDevices", at::DeviceType::PrivateUse1),
                                           OnDevices("OfTheCpuByWayOfDevices", at::kCPU)),
                         [](const auto& maker) { return maker.param.name; });

TEST(StagedGang, BringsBackTheErrorOfTheGang) {
  auto gang = MakeLocalGang(2, std::chrono::milliseconds(50));
  const auto staged = StageOn(retort::testing::PretendDevice(), std::move(gang[0]));
  at::Tensor values = at::ones({1});
  EXPECT_EQ(staged->AllReduceSum(values).code(), StatusCode::environment);
  EXPECT_EQ(values.item<float>(), 1);
  const auto begun = staged->BeginAllReduceSum(values);
  EXPECT_TRUE(!begun.ok() || !(*begun)->Wait().ok());
  EXPECT_FALSE(staged->AllGather(values).ok());
}

}  // namespace
}  // namespace retort::worker
