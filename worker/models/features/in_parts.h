// Rows worked on a few at a time, so that what is made on the way stays in a processor's cache.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace retort::worker {

// What `work` makes of the rows of `images`, about `pixels` values at a time. Rows do not see each other.
template <typename Work>
[[nodiscard]] at::Tensor InParts(const at::Tensor& images, std::int64_t pixels, const Work& work) {
  const std::int64_t rows = images.size(0), values = images.size(1) * images.size(2) * images.size(3);
  const std::int64_t at_once = images.is_cpu() ? std::max<std::int64_t>(pixels / values, 1) : rows;
  if (rows <= at_once) return work(images);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < rows; first += at_once)
    parts.push_back(work(images.narrow(0, first, std::min(at_once, rows - first))));
  return at::cat(parts);
}

}  // namespace retort::worker
