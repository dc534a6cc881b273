// Copies of tensors to the CPU that nobody waits for.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>

#include "experiments/base/status.h"

namespace retort::worker {

// A copy on its way.
class HostCopy {
 public:
  virtual ~HostCopy() = default;
  // The values as they were when the copy began, on the CPU. Once, on any thread; waits for this copy alone. Throws
  // nothing but std::bad_alloc. Error: environment, with the words of a device that failed.
  [[nodiscard]] virtual Result<at::Tensor> Await() = 0;
};

using HostCopier = std::function<std::unique_ptr<HostCopy>(const at::Tensor& tensor)>;

// From the CPU the copy is made at once. From another device it waits, on a stream of its own, for what the current
// stream was given before, and neither stream waits for the host: the values are first copied on the device, so that
// whatever is written over `tensor` next does not reach the copy.
[[nodiscard]] std::unique_ptr<HostCopy> StartHostCopy(const at::Tensor& tensor);

}  // namespace retort::worker
