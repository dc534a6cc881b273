// attempt.h5 of any bytes is what was written, or damage.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "storage/results/attempt_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/storage_samples.h"

namespace retort::testing {
namespace {

// HDF5 reads files alone, so there is one for this process.
std::string FileHere() {
  return (std::filesystem::temp_directory_path() / ("retort-fuzz-" + std::to_string(getpid()) + ".h5")).string();
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string path = FileHere();
  RETORT_CHECK(storage::WriteAttemptFile(storage::PosixEnv(), path, SampleAttempt()).ok());
  const auto bytes = storage::PosixEnv().ReadFile(path);
  std::filesystem::remove(path);
  RETORT_CHECK(bytes.ok());
  return {*bytes};
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  const std::string path = testing::FileHere();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto file = storage::ReadAttemptFile(path);
  if (!file.ok()) testing::CheckRefusal(file.status());
  if (file.ok()) RETORT_CHECK(file->spec_json == testing::SampleAttempt().spec_json);
  std::filesystem::remove(path);
  return 0;
}
