// What loading saved weights costs beside the least: reading the file into memory. Both in turns in one run,
// the pages in the cache, and the shortest of each: what else the machine does only adds. The digest is
// measured apart, since SHA-256 alone takes longer than that.
//   weights_read_bench [MIB] [FOLDER]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/weights/read_weights.h"
#include "storage/weights/write_weights.h"

namespace {

using namespace retort::storage;

constexpr int kRounds = 9;
constexpr double kMostRatio = 1.2;

double Seconds(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<TensorBlob> MakeState(std::size_t mib) {
  constexpr std::size_t kTensors = 150;
  std::vector<TensorBlob> state;
  std::uint32_t word = 1;
  for (std::size_t i = 0; i < kTensors; ++i) {
    const std::size_t floats = (mib << 20) / kTensors / sizeof(float);
    TensorBlob blob{"layer" + std::to_string(i) + ".weight", DType::f32, {static_cast<std::int64_t>(floats)}, {}};
    blob.bytes.resize(floats * sizeof(float));
    for (std::size_t at = 0; at < blob.bytes.size(); ++at)
      blob.bytes[at] = at % 4 == 3 ? 0x3F : static_cast<std::uint8_t>((word = word * 1664525 + 1013904223) >> 24U);
    state.push_back(std::move(blob));
  }
  return state;
}

double RawRead(const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto size = static_cast<std::size_t>(std::filesystem::file_size(path));
  const std::unique_ptr<char, decltype(&std::free)> bytes(static_cast<char*>(std::malloc(size)), &std::free);
  for (std::size_t done = 0; done < size;) {
    const ssize_t got = read(file, bytes.get() + done, size - done);
    if (got <= 0) std::abort();
    done += static_cast<std::size_t>(got);
  }
  close(file);
  return Seconds(start);
}

double Load(const std::string& path, bool digest) {
  const auto start = std::chrono::steady_clock::now();
  const auto dict = ReadWeights(PosixEnv(), path, {digest, false});
  if (!dict.ok()) {
    std::fprintf(stderr, "%s\n", dict.status().message().c_str());
    std::abort();
  }
  return Seconds(start);
}

double Least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

}  // namespace

// 0: loading took at most the ratio of a raw read. 3: it took more.
int main(int argc, char** argv) {
  const std::size_t mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 350;
  const std::string base = argc > 2 ? argv[2] : std::filesystem::temp_directory_path().string();
  std::string folder = base + "/retort-weights-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  bool missed = false;
  for (const bool torch : {true, false}) {
    const std::string path = folder + (torch ? "/state.pth" : "/state.safetensors");
    const auto bytes = torch ? EncodeTorch(MakeState(mib)) : EncodeSafetensors(MakeState(mib));
    if (!bytes.ok() || !PosixEnv().WriteFileAtomically(path, *bytes).ok()) return 1;
    std::vector<double> raw, load, digest;
    for (int round = 0; round < kRounds; ++round) {
      raw.push_back(RawRead(path));
      load.push_back(Load(path, false));
      digest.push_back(Load(path, true));
    }
    const double ratio = Least(load) / Least(raw);
    std::printf(
        "%s, %zu MiB: raw read %.3f s, load %.3f s, with digest %.3f s; load / raw %.2f (aim: at most "
        "%.1f)\n",
        torch ? ".pth" : "safetensors", mib, Least(raw), Least(load), Least(digest), ratio, kMostRatio);
    missed = missed || ratio > kMostRatio;
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return missed ? 3 : 0;
}
