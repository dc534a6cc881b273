// A file of saved weights is any bytes: zip, tar and legacy containers of torch.save, safetensors, and .npz.
#include "storage/files/read_limits.h"
#include "storage/weights/read_weights.h"
#include "storage/weights/write_weights.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const char* name : {"weights.zip.pth", "weights.legacy.pth", "weights.tar.pth", "weights.safetensors",
                           "nested.pth", "weights.deflated.pth", "weights.packed.npz"}) {
    const auto bytes =
        storage::PosixEnv().ReadFile(std::string(RETORT_SOURCE_DIR "/tests/unit/storage/fixtures/") + name);
    RETORT_CHECK(bytes.ok());
    seeds.push_back(*bytes);
  }
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  testing::FaultInjectionEnv env;
  env.Put("w.pth", std::string(testing::Bytes(data, size)));
  const auto dict = storage::ReadWeights(env, "w.pth", {false, true});
  if (!dict.ok()) {
    testing::CheckRefusal(dict.status());
    RETORT_CHECK(dict.status().message().find("w.pth") != std::string::npos);
    return 0;
  }
  std::uint64_t bytes = 0;
  for (const storage::TensorBlob& tensor : dict->tensors) bytes += tensor.bytes.size();
  RETORT_CHECK(bytes <= 16 * storage::ComputeMaxUnpackedSize(size));
  // What was read can be written, and is then the same.
  const auto written = storage::EncodeTorch(dict->tensors);
  RETORT_CHECK(written.ok());
  env.Put("again.pth", *written);
  const auto again = storage::ReadWeights(env, "again.pth", {false, true});
  RETORT_CHECK(dict->tensors.empty() || (again.ok() && again->tensors == dict->tensors));
  return 0;
}
