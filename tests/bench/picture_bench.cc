// Images to batches, on one thread.
//   usage: picture_bench planes LIST RESIZE CROP OUT    the prepared planes of each file in LIST, one behind
//   the other
//          picture_bench epochs LIST RESIZE CROP REPEATS CACHE_FOLDER
// The second prints milliseconds of processor time an image: decoding, resizing, cutting and normalising;
// and batches of 32 in a random order out of the mapped cache.
#include <ATen/Parallel.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "storage/images/image_cache.h"
#include "worker/data/examples.h"
#include "worker/run/worker_service.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

// Of this process: what else the machine does is not counted.
struct Clock {
  static double Milliseconds() { return 1000.0 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
};

template <typename T>
T Require(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "picture_bench: %s\n", result.status().message().c_str());
  std::exit(1);
}

struct Files {
  std::vector<std::string> names, bytes;
};

Files ReadFiles(const char* list) {
  Files files;
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    std::ifstream file(line, std::ios::binary);
    files.names.push_back(line);
    files.bytes.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return files;
}

storage::ImageSet MakeSet(const Files& files, std::int64_t resize, std::int64_t crop) {
  storage::ImageSet set;
  set.digest = std::string(64, 'b');
  set.source.read = [&files](std::int64_t row) -> Result<std::string> {
    return files.bytes[static_cast<std::size_t>(row)];
  };
  set.source.where = [&files](std::int64_t row) { return files.names[static_cast<std::size_t>(row)]; };
  for (std::size_t row = 0; row < files.names.size(); ++row) set.rows.push_back(static_cast<std::int64_t>(row));
  set.order.preprocessing = {.resize = resize, .crop = crop};
  set.order.size = {crop, crop};
  return set;
}

void WritePlanes(const storage::ImageSet& set, const char* path) {
  std::ofstream out(path, std::ios::binary);
  for (const std::int64_t row : set.rows) {
    const auto image =
        Require(storage::PrepareImage(set.source.where(row), *set.source.read(row), set.order.preprocessing));
    out.write(reinterpret_cast<const char*>(image.planes.data()), static_cast<std::streamsize>(image.planes.size()));
  }
}

double MillisecondsSince(double then, std::size_t pictures) {
  return (Clock::Milliseconds() - then) / static_cast<double>(pictures);
}

double Decoding(const storage::ImageSet& set, const PixelLevels& levels) {
  const std::int64_t side = set.order.size.height, plane = side * side;
  std::vector<float> out(static_cast<std::size_t>(3 * plane));
  const double began = Clock::Milliseconds();
  for (const std::int64_t row : set.rows) {
    const auto image =
        Require(storage::PrepareImage(set.source.where(row), *set.source.read(row), set.order.preprocessing));
    levels.Normalise(image.planes.data(), plane, out.data());
  }
  return MillisecondsSince(began, set.rows.size());
}

double FromCache(const Examples& examples, std::uint64_t epoch) {
  constexpr std::int64_t kBatch = 32;
  const std::vector<std::int64_t> order = DrawPermutation(examples.size(), RngStream(epoch, Purpose::batches));
  double sum = 0;
  const double began = Clock::Milliseconds();
  for (std::int64_t first = 0; first < examples.size(); first += kBatch) {
    const auto begin = order.begin() + first;
    const std::vector<std::int64_t> rows(begin, begin + std::min(kBatch, examples.size() - first));
    sum += static_cast<double>(*examples.Batch(at::tensor(rows, at::kLong)).const_data_ptr<float>());
  }
  const double milliseconds = MillisecondsSince(began, static_cast<std::size_t>(examples.size()));
  return sum == 12345 ? 0 : milliseconds;
}

int Epochs(const storage::ImageSet& set, int repeats, const char* folder) {
  PrepareTorch();  // memory as a worker has it
  at::set_num_threads(1);
  const PixelScale scale{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  storage::ImageCache cache;
  cache.folder = folder;
  auto pictures = Require(storage::OpenDecoded(storage::PosixEnv(), set, cache, [](auto, auto) { return Status(); }));
  const ImageShape shape{3, set.order.size.height, set.order.size.width};
  const auto images = std::make_shared<const StoredImages>(std::move(pictures), shape, scale, at::kCPU);
  const Examples examples(images, set.rows, at::zeros({static_cast<std::int64_t>(set.rows.size())}, at::kLong));
  double decoding = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) decoding = std::min(decoding, Decoding(set, images->levels));
  std::vector<double> cached;  // epochs after the first, which maps the file and takes the memory
  for (int i = 0; i <= 10 * repeats; ++i) cached.push_back(FromCache(examples, static_cast<std::uint64_t>(i)));
  const auto middle = cached.begin() + 1 + 5 * repeats;
  std::nth_element(cached.begin() + 1, middle, cached.end());
  std::printf("decode %.4f\ncached %.4f\n", decoding, *middle);
  return 0;
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  using namespace retort::worker;
  const std::string mode = argc > 1 ? argv[1] : "";
  if (!((mode == "planes" && argc == 6) || (mode == "epochs" && argc == 7))) {
    std::fprintf(stderr, "usage: picture_bench planes LIST RESIZE CROP OUT | epochs LIST RESIZE CROP REPEATS FOLDER\n");
    return 2;
  }
  const Files files = ReadFiles(argv[2]);
  const auto set = MakeSet(files, std::atoll(argv[3]), std::atoll(argv[4]));
  if (mode == "epochs") return Epochs(set, std::atoi(argv[5]), argv[6]);
  WritePlanes(set, argv[5]);
  return 0;
}
