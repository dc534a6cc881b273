// Whatever lies in the cache of measured costs is read and written again as it was, or is refused.
#include "orchestrator/journal/cost_cache.h"
#include "tests/fuzz/fuzz_target.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  orchestrator::CostModel one, other;
  one.Add("dpdfd logistic 28x28", {"0123456789abcdef", 1.7e9, 0.07, 1.5, 5000, 60000, 1});
  one.Add("dpdfd logistic 28x28", {"fedcba9876543210", 1.7e9 + 60, 0.08, 1.25, 5001, 0, 0.5});
  other.Add("plain resnet18 32x32", {"00000000000000ff", 1.6e9, 1e-3, 12, 0, 0, 1});
  return {orchestrator::EncodeCosts({}), orchestrator::EncodeCosts({{"cpu", one}, {"NVIDIA H100", other}})};
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  const auto costs = orchestrator::DecodeCosts(testing::Bytes(data, size));
  if (!costs.ok()) {
    testing::CheckRefusal(costs.status());
    return 0;
  }
  const std::string json = orchestrator::EncodeCosts(*costs);
  const auto again = orchestrator::DecodeCosts(json);
  RETORT_CHECK(again.ok() && orchestrator::EncodeCosts(*again) == json);
  return 0;
}
