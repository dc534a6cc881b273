// A bundle is accepted with the bytes that its members give, and refused with any others.
#include "orchestrator/results/bundle.h"

#include "tests/fuzz/fuzz_target.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  return {orchestrator::EncodeBundle({"0.1.0", {{"sweep.toml", "retort = 1\n"}, {"archive.rows", "{}\n"}}})};
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  const std::string bytes(testing::Bytes(data, size));
  const Result<orchestrator::Bundle> bundle = orchestrator::DecodeBundle(bytes, "fuzzed.tar");
  if (!bundle.ok()) {
    testing::CheckRefusal(bundle.status());
    return 0;
  }
  RETORT_CHECK(orchestrator::EncodeBundle(*bundle) == bytes);
  return 0;
}
