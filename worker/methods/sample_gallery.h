// The few synthetic images that an attempt keeps for people to look at.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/spec/data_readers.h"
#include "storage/attempt_file.h"
#include "worker/train_state.h"

namespace retort::worker {

// Rows of the newest batch offered, with the annotation released for each.
class SampleGallery {
 public:
  SampleGallery(std::int64_t rows, std::vector<std::int64_t> image_shape, std::int64_t classes,
                at::Device device = at::kCPU);
  // Keeps the first rows of images [n, C, H, W] and annotations f32 [n, classes].
  void Offer(std::int64_t step, const at::Tensor& images, const at::Tensor& annotations);
  void Register(TrainState& state, const std::string& prefix);
  // `claim`: one line on what the samples are charged under. `scale`: what the images are normalised by.
  [[nodiscard]] storage::Samples ToSamples(const std::string& claim, const PixelScale& scale) const;

 private:
  at::Tensor images_, annotations_;
  at::Tensor step_;        // i64 [1], on the CPU
  std::int64_t rows_ = 0;  // kept
};

}  // namespace retort::worker
