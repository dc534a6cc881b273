// What a checkpoint costs beside the least that any program pays for making its bytes durable: write, fsync,
// rename, fsync of the folder. Both in turns in one run, on the same file system:
//   checkpoint_write_bench [MIB] [FOLDER]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/results/checkpoint_store.h"

namespace {

using namespace retort::storage;

constexpr int kRounds = 9;
constexpr double kLeastShare = 0.9;  // the digest is the slower one where a disk takes more than 1.2 GiB/s

double Seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Parameters and optimiser state of a network, as many megabytes as asked for.
Checkpoint MakeCheckpoint(std::size_t mib) {
  constexpr std::size_t kTensors = 32;
  Checkpoint checkpoint;
  checkpoint.attributes = {{"gang_size", "1"}};
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const std::size_t floats = (mib << 20) / kTensors / sizeof(float);
    TensorBlob blob{"student/layer" + std::to_string(i), DType::f32, {static_cast<std::int64_t>(floats)}, {}};
    blob.bytes.resize(floats * sizeof(float));
    for (std::size_t at = 0; at < blob.bytes.size(); ++at)
      blob.bytes[at] = static_cast<std::uint8_t>((state = state * 6364136223846793005U + 1) >> 56U);
    checkpoint.tensors.push_back(std::move(blob));
  }
  return checkpoint;
}

// The least: the same bytes, gathered from the tensors.
double RawWrite(const std::string& folder, const Checkpoint& checkpoint) {
  const std::string temporary = folder + "/raw.tmp", path = folder + "/raw";
  std::filesystem::remove(path);  // giving its blocks back is not the least
  const auto start = std::chrono::steady_clock::now();
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  for (const TensorBlob& blob : checkpoint.tensors)
    for (std::size_t done = 0; done < blob.bytes.size();) {
      const ssize_t wrote = write(file, blob.bytes.data() + done, blob.bytes.size() - done);
      if (wrote <= 0) std::abort();
      done += static_cast<std::size_t>(wrote);
    }
  if (fsync(file) != 0 || close(file) != 0 || rename(temporary.c_str(), path.c_str()) != 0) std::abort();
  const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fsync(directory) != 0) std::abort();
  close(directory);
  return Seconds(start);
}

double Commit(CheckpointStore& store, Checkpoint& checkpoint) {
  ++checkpoint.step;
  const auto start = std::chrono::steady_clock::now();
  const auto digest = store.Commit(checkpoint);
  if (!digest.ok()) {
    std::fprintf(stderr, "%s\n", digest.status().message().c_str());
    std::abort();
  }
  return Seconds(start);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace

// 0: a commit reached the share of the raw speed. 3: it did not.
int main(int argc, char** argv) {
  const std::size_t mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 128;
  const std::string base = argc > 2 ? argv[2] : std::filesystem::temp_directory_path().string();
  std::string folder = base + "/retort-checkpoint-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  Checkpoint checkpoint = MakeCheckpoint(mib);
  auto store = CheckpointStore::Open(PosixEnv(), folder, 1);
  if (!store.ok()) return 1;
  std::vector<double> raw, commit;
  for (int round = 0; round < kRounds; ++round) {
    raw.push_back(RawWrite(folder, checkpoint));
    commit.push_back(Commit(**store, checkpoint));
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  const double share = Median(raw) / Median(commit);
  std::printf("{\"mib\":%zu,\"raw_seconds\":%.4f,\"commit_seconds\":%.4f,\"share_of_raw_speed\":%.3f}\n", mib,
              Median(raw), Median(commit), share);
  return share >= kLeastShare ? 0 : 3;
}
