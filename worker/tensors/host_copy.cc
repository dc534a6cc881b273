#include "worker/tensors/host_copy.h"

#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <utility>

namespace retort::worker {
namespace {

class FinishedCopy final : public HostCopy {
 public:
  explicit FinishedCopy(at::Tensor values) : values_(std::move(values)) {}
  Result<at::Tensor> Await() override { return std::move(values_); }

 private:
  at::Tensor values_;
};

// Holds the device's copy until the host has it, since its memory would be given to others before.
class SideStreamCopy final : public HostCopy {
 public:
  explicit SideStreamCopy(at::Tensor held)
      : held_(std::move(held)), ready_(held_.device().type()), arrived_(held_.device().type()) {
    const c10::impl::VirtualGuardImpl device(held_.device().type());
    const c10::Stream side = device.getStreamFromGlobalPool(held_.device());
    ready_.record(device.getStream(held_.device()));
    ready_.block(side);
    const c10::StreamGuard guard(side);
    // Copies into other memory of the host are waited for.
    values_ = at::empty(held_.sizes(), held_.options().device(at::kCPU).pinned_memory(held_.is_cuda()));
    values_.copy_(held_, /*non_blocking=*/true);
    arrived_.record(side);
  }

  Result<at::Tensor> Await() override {
    try {
      arrived_.synchronize();
      held_.reset();
      return std::move(values_);
    } catch (const c10::Error& error) {
      return EnvironmentError(error.what_without_backtrace());
    }
  }

 private:
  at::Tensor held_, values_;
  c10::Event ready_, arrived_;
};

}  // namespace

std::unique_ptr<HostCopy> StartHostCopy(const at::Tensor& tensor) {
  at::Tensor values = tensor.detach().clone(at::MemoryFormat::Contiguous);
  if (values.device().is_cpu()) return std::make_unique<FinishedCopy>(std::move(values));
  return std::make_unique<SideStreamCopy>(std::move(values));
}

}  // namespace retort::worker
