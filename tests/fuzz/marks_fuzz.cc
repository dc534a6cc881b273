// Marks of private examples, and the key that makes them, as any bytes. An input whose checksum is put right is decoded
// further than its first bytes.
#include "experiments/base/digests.h"
#include "storage/datasets/mark_store.h"
#include "storage/formats/byte_codec.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

std::string WithChecksum(std::string bytes) {
  if (bytes.size() < 4) return bytes;
  bytes.resize(bytes.size() - 4);
  retort::storage::ByteWriter crc;
  crc.U32(retort::ComputeCrc32c(bytes));
  return bytes + crc.bytes();
}

void Read(const std::string& bytes) {
  std::string root;
  const retort::Result<retort::storage::DataMarks> marks = retort::storage::DecodeMarks(bytes, "marks", root);
  if (marks.ok())
    RETORT_CHECK(retort::storage::EncodeMarks(root, *marks) == bytes);
  else
    retort::testing::CheckRefusal(marks.status());
  const retort::Result<retort::storage::MarkKey> key = retort::storage::MarkKey::Parse(bytes, "key");
  if (key.ok()) RETORT_CHECK(key->Bytes() == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Read(bytes);
  Read(WithChecksum(bytes));
  return 0;
}

std::vector<std::string> retort::testing::FuzzSeeds() {
  storage::DataMarks marks{std::string(64, 'd'), std::string(16, '5'), {{1}, {2}, {3}}, {{4}}};
  return {storage::EncodeMarks(std::string(32, 'a'), marks), storage::EncodeMarks("", {}),
          storage::MarkKey::Draw().Bytes()};
}
