#include "worker/methods/sample_gallery.h"

#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "worker/data/dataset.h"
#include "worker/tensor_codec.h"

namespace retort::worker {

SampleGallery::SampleGallery(std::int64_t rows, std::vector<std::int64_t> image_shape, std::int64_t classes,
                             at::Device device)
    : annotations_(at::zeros({rows, classes}, at::device(device).dtype(at::kFloat))),
      step_(at::zeros({1}, at::kLong)) {
  image_shape.insert(image_shape.begin(), rows);
  images_ = at::zeros(image_shape, annotations_.options());
}

void SampleGallery::Offer(std::int64_t step, const at::Tensor& images, const at::Tensor& annotations) {
  const at::NoGradGuard no_grad;
  rows_ = std::min(images.size(0), images_.size(0));
  images_.narrow(0, 0, rows_).copy_(images.narrow(0, 0, rows_));
  annotations_.narrow(0, 0, rows_).copy_(annotations.narrow(0, 0, rows_));
  step_.fill_(step);
}

void SampleGallery::Register(TrainState& state, const std::string& prefix) {
  state.AddRows(prefix + "images", images_, &rows_);
  state.AddRows(prefix + "annotations", annotations_, &rows_);
  state.Add(prefix + "step", step_);
}

storage::Samples SampleGallery::ToSamples(const std::string& claim, const PixelScale& scale) const {
  storage::Samples samples;
  samples.images = ToBlob("images", ToBytes(images_.narrow(0, 0, rows_), scale));
  samples.released = ToBlob("released", annotations_.narrow(0, 0, rows_));
  samples.step.assign(static_cast<std::size_t>(rows_), static_cast<std::uint64_t>(step_.item<std::int64_t>()));
  samples.mean = scale.mean;
  samples.std = scale.std;
  samples.claim = claim;
  return samples;
}

}  // namespace retort::worker
