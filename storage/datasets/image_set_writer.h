// Writes labelled images, one after another, as a data set that other programs and this one read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::storage {

// What is to be written: so many images of one size, with labels below `classes`.
struct WrittenImages {
  std::int64_t count = 0;
  std::int64_t channels = 1, height = 28, width = 28;
  std::int64_t classes = 10;
};

// Names of the formats, in the order in which they are listed.
//   idx: train-images-idx3-ubyte and train-labels-idx1-ubyte, as MNIST is distributed, and t10k files of no image,
//   without which torchvision would fetch MNIST's over all of them; grey images alone.
//   png: CLASS/00000000.png, a folder a class, numbered in the order of the whole set.
//   npz: samples.npz with `images` u8 [count, channels, height, width] and `labels` i64 [count].
//   webdataset: samples-000000.tar and so on, 10,000 images each: 00000000.png with 00000000.cls, the label in
//   digits.
[[nodiscard]] const std::vector<std::string>& ListImageSetFormats();

// Error: usage, when the format cannot hold the set, with those that can; unknown formats are not asked about.
[[nodiscard]] Status CheckImageSetFormat(const std::string& format, const WrittenImages& set);

class ImageSetWriter {
 public:
  virtual ~ImageSetWriter() = default;
  // The next image: channels x height x width bytes, plane after plane, and its label. REQUIRES: fewer than `count`
  // were added. Error: environment.
  [[nodiscard]] virtual Status Add(std::string_view pixels, std::int64_t label) = 0;
  // After the last image; nothing is synced. Error: environment.
  [[nodiscard]] virtual Status Finish() = 0;
};

// Writes into `folder`, which is there and empty. Error: as CheckImageSetFormat; environment.
[[nodiscard]] Result<std::unique_ptr<ImageSetWriter>> MakeImageSetWriter(Env& env, const std::string& format,
                                                                         const std::string& folder,
                                                                         const WrittenImages& set);

}  // namespace retort::storage
