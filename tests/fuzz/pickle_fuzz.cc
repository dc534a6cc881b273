// A pickle is any bytes: within a container its checksum would hide most of them from the reader.
#include "storage/formats/zip_archive.h"
#include "storage/weights/torch_file.h"
#include "storage/weights/torch_pickle.h"
#include "tests/fuzz/fuzz_target.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const char* name : {"weights.zip.pth", "nested.pth", "nan.pth"}) {
    auto file = storage::PosixEnv().OpenInput(std::string(RETORT_SOURCE_DIR "/tests/unit/storage/fixtures/") + name);
    RETORT_CHECK(file.ok());
    const auto zip = storage::ZipFile::Open(std::move(*file), name);
    RETORT_CHECK(zip.ok());
    for (const storage::ZipEntry& entry : zip->entries())
      if (entry.name.ends_with("/data.pkl")) seeds.push_back(zip->Read(entry, 1 << 20).value());
  }
  RETORT_CHECK(seeds.size() == 3);
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  const std::string file = "p.pth";
  const storage::PersistentId persistent = [&file](storage::Pickle& pickle, std::uint32_t id) {
    return storage::ParseStorageId(pickle, id, file);
  };
  const auto pickle = storage::ReadPickle(testing::Bytes(data, size), file, 0, persistent);
  if (!pickle.ok()) {
    testing::CheckRefusal(pickle.status());
    return 0;
  }
  RETORT_CHECK(pickle->consumed <= size);
  const auto state = storage::BuildStoredState(*pickle, {}, "torch-zip", file);
  if (!state.ok()) testing::CheckRefusal(state.status());
  return 0;
}
