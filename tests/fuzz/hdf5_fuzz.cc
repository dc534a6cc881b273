// HDF5 files of any bytes, sealed, are read or are damage, whoever sealed them. The first byte chooses what
// is looked for: an attempt, a checkpoint or a result file.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "storage/results/attempt_file.h"
#include "storage/results/checkpoint_store.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/hostile_hdf5.h"
#include "tests/testing/storage_samples.h"

namespace retort::testing {
namespace {

using storage::Hdf5Reader;

constexpr std::size_t kSealBytes = 20, kEndAt = 40;
constexpr std::size_t kDepth = 60;  // of the seeds' deepest groups: more than are read

std::string Unsealed(const std::string& bytes) { return bytes.substr(0, bytes.size() - kSealBytes); }

std::string Attributes() {
  storage::Hdf5Writer writer("attributes");
  for (int i = 0; i < 60; ++i)
    writer.Attribute("/", "a" + std::to_string(i), std::string(static_cast<std::size_t>(1 + i * 7), 'x'));
  writer.Attribute("/", "large", std::string(20'000, 'x'));
  return writer.Finish().value();
}

std::string Links() {
  storage::Hdf5Writer writer("links");
  for (int i = 10; i < 60; ++i)
    writer.ExternalLink("/attempts/00000000000000" + std::to_string(i), "trials/a/attempt-1/attempt.h5", "/");
  return writer.Finish().value();
}

// The superblock says how long the file is; a mutation of the length would never come further.
std::string WithItsLength(std::string bytes) {
  for (std::size_t i = 0; i < 8 && kEndAt + i < bytes.size(); ++i)
    bytes[kEndAt + i] = static_cast<char>(bytes.size() >> (8 * i));
  return bytes;
}

void ReadEverything(const Hdf5Reader& reader) {
  for (const std::string& path : reader.DatasetsBelow("/")) {
    for (const Status& status : {reader.Dataset(path).status(), reader.CompoundTable(path).status()})
      if (!status.ok()) CheckRefusal(status);
    static_cast<void>(reader.TextAttributes(path).ok());
    static_cast<void>(reader.IntegerAttribute(path, "order").ok());
  }
  static_cast<void>(reader.TextAttributes("/").ok());
}

void OpenImage(const std::string& bytes) {
  const auto reader = Hdf5Reader::OpenView(bytes, "image");
  if (!reader.ok()) return CheckRefusal(reader.status());
  ReadEverything(*reader);
  const auto checkpoint = storage::DecodeCheckpoint(bytes, "checkpoint");
  if (!checkpoint.ok()) CheckRefusal(checkpoint.status());
}

void OpenFile(const std::string& bytes, bool attempt) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("retort-fuzz-" + std::to_string(getpid()) + ".h5")).string();
  std::ofstream(path, std::ios::binary) << bytes << (attempt ? storage::MakeSeal(bytes) : "");
  const Status status = attempt ? storage::ReadAttemptFile(path).status() : Hdf5Reader::OpenResultFile(path).status();
  std::filesystem::remove(path);
  if (!status.ok()) CheckRefusal(status);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("retort-fuzz-" + std::to_string(getpid()))).string();
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/seed.h5";
  std::vector<std::string> seeds = {"i" + Attributes(), "r" + Links()};
  RETORT_CHECK(storage::WriteAttemptFile(storage::PosixEnv(), path, SampleAttempt()).ok());
  const std::string attempt = Unsealed(storage::PosixEnv().ReadFile(path).value());
  seeds.insert(seeds.end(), {"a" + attempt, "i" + attempt});
  const storage::Checkpoint checkpoint{3, {FloatBlob("student/w", {1, 2, 3})}, {{"revision", "1"}}};
  RETORT_CHECK(storage::WriteCheckpoint(storage::PosixEnv(), path, checkpoint).ok());
  seeds.push_back("i" + storage::PosixEnv().ReadFile(path).value());
  for (const HostileFile& hostile : HostileFiles(folder, path, kDepth)) seeds.push_back("a" + Unsealed(hostile.bytes));
  std::filesystem::remove_all(folder);
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort::testing;
  const std::string bytes(Bytes(data, size));
  if (bytes.empty()) return 0;
  const std::string file = WithItsLength(bytes.substr(1));
  if (bytes[0] != 'a' && bytes[0] != 'r') OpenImage(file);
  if (bytes[0] == 'a' || bytes[0] == 'r') OpenFile(file, bytes[0] == 'a');
  return 0;
}
