// Public pictures, augmented and mixed in pairs, as queries: they learn nothing, and no two steps show the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "worker/methods/image_source.h"

namespace retort::worker {

class MixedSource final : public FixedSource {
 public:
  // Of data.public_split, augmented as spec.augment and spec.shift say. All three outlive it. Error: environment, where a
  // picture is public and private at once; usage, where none is public.
  [[nodiscard]] static Result<std::unique_ptr<MixedSource>> Create(const TrialSpec& spec, const Dataset& data,
                                                                   const Collective& gang);

  Result<at::Tensor> Images(std::int64_t step, std::int64_t rows) override;

 private:
  MixedSource(const TrialSpec& spec, const Dataset& data, const Collective& gang)
      : spec_(spec), data_(data), gang_(gang) {}
  // One of the two pictures of each row.
  [[nodiscard]] Result<at::Tensor> Drawn(std::int64_t step, std::int64_t which, const RowShare& own) const;

  const TrialSpec& spec_;
  const Dataset& data_;
  const Collective& gang_;
};

}  // namespace retort::worker
