// Pictures drawn by a procedure as queries: they learn nothing, and no two steps show the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "worker/methods/image_source.h"

namespace retort::worker {

class ProceduralSource final : public FixedSource {
 public:
  // Square images of at least 8 pixels a side.
  ProceduralSource(const TrialSpec& spec, const Dataset& data, const Collective& gang);

  // Even rows show the first kind of spec.pictures, odd rows the second.
  Result<at::Tensor> Images(std::int64_t step, std::int64_t rows) override;
  // The even ones of the first 2 * rows of them, whole on every member of the gang: f32 [rows, C, H, W].
  [[nodiscard]] at::Tensor OfFirstKind(std::int64_t step, std::int64_t rows) const;

 private:
  [[nodiscard]] RngStream StreamOf(std::int64_t step) const;
  [[nodiscard]] at::Tensor Normalised(at::Tensor pictures) const;

  const TrialSpec& spec_;
  const Collective& gang_;
  ImageShape shape_;
  at::Device device_;
  at::Tensor mean_, std_;  // f32 [1, C, 1, 1]
};

}  // namespace retort::worker
