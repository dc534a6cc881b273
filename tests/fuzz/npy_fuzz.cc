// A .npy and a .npz are any bytes.
#include "storage/formats/npy_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/packed_zeros.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  const storage::TensorBlob a{"a", storage::DType::f32, {2, 3}, std::vector<std::uint8_t>(24, 7)};
  const storage::TensorBlob b{"b", storage::DType::u8, {5}, {1, 2, 3, 4, 5}};
  return {storage::EncodeNpy(a), storage::EncodeNpy(b), storage::EncodeNpz({a, b}).value(), NpzOfZeros(1),
          NpzOfZeros(90)};
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  const std::string bytes(testing::Bytes(data, size));
  const auto array = storage::ParseNpy("a.npy", bytes);
  if (array.ok())
    RETORT_CHECK(storage::ParseNpy("b.npy", storage::EncodeNpy(*array)).value() == *array);
  else
    testing::CheckRefusal(array.status());
  testing::FaultInjectionEnv env;
  env.Put("a.npz", bytes);
  const auto npz = storage::NpzFile::Open(env, "a.npz");
  if (!npz.ok()) {
    testing::CheckRefusal(npz.status());
    return 0;
  }
  for (const std::string& name : npz->names()) {
    const auto read = npz->Read(name, 1 << 24);
    if (!read.ok()) testing::CheckRefusal(read.status());
  }
  return 0;
}
