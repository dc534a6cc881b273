// The generator that a finished trial left, as a source of images.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/data_spec.h"
#include "experiments/methods/trial_spec.h"
#include "storage/formats/tensor_blob.h"
#include "worker/models/network.h"

namespace retort::worker::samples {

// What the images of a trial are: their extents, their classes, and how they were normalised.
struct ImageFrame {
  ImageShape shape;
  std::int64_t classes = 0;
  PixelScale scale;
};

// Makes the images 0, 1, 2, ... of one seed. Batch norms of a generator use the statistics of the batch at hand, so a
// image depends on those beside it: batches have one size and begin at its multiples, however many images are
// wanted, and the first N of 2 N are the N.
class StoredGenerator {
 public:
  virtual ~StoredGenerator() = default;
  [[nodiscard]] std::int64_t batch() const { return batch_; }
  // Batch `index` of them, u8 [batch(), channels, height, width] on the CPU: a function of the parameters, the seed and
  // `index`.
  [[nodiscard]] virtual at::Tensor Batch(std::int64_t index) const = 0;

 protected:
  explicit StoredGenerator(std::int64_t batch) : batch_(batch) {}

 private:
  std::int64_t batch_;
};

// Of `parameters`, whose names begin "generator/". Error: usage, where there are none; damage, where they are not those
// of the trial's generator.
[[nodiscard]] Result<std::unique_ptr<StoredGenerator>> LoadGenerator(const TrialSpec& spec, const ImageFrame& frame,
                                                                     const std::vector<storage::TensorBlob>& parameters,
                                                                     std::uint64_t seed);

// u8 [rows, channels, height, width] -> f32 of the same shape, normalised as the trial's data is: the same bits as when
// such images are read from a data set.
[[nodiscard]] at::Tensor NormaliseImages(const at::Tensor& images, const PixelScale& scale);

}  // namespace retort::worker::samples
