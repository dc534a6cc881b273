#include "worker/cuda/graph_device.h"

#include <ATen/ATen.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <optional>
#include <utility>

#include "worker/gang/c10d_store.h"

namespace retort::worker {
namespace {

class CudaGraph final : public DeviceGraph {
 public:
  at::cuda::CUDAGraph& graph() { return graph_; }
  Status Replay(const std::function<Status()>&) override {
    return CatchC10d("Replaying a graph", [&] { graph_.replay(); });
  }

 private:
  at::cuda::CUDAGraph graph_;
};

class CudaGraphDevice final : public GraphDevice {
 public:
  explicit CudaGraphDevice(c10::DeviceIndex device) : device_(device) {}

  // The trial runs on a stream of its own, since the default one cannot be recorded. It is one of high priority: copies
  // to the host go round those of low priority, and what another thread does on its stream would join a recording.
  void Begin() override {
    const c10::cuda::CUDAGuard guard(device_);
    c10::cuda::device_synchronize();
    before_ = c10::cuda::getCurrentCUDAStream(device_);
    c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device_));
    pool_ = at::cuda::graph_pool_handle();
  }

  void End() override {
    const c10::cuda::CUDAGuard guard(device_);
    // What a broken context says here, it has said before.
    static_cast<void>(CatchC10d("Ending the graphs of a trial", [] { c10::cuda::device_synchronize(); }));
    if (before_) c10::cuda::setCurrentCUDAStream(*before_);
    before_.reset();
  }

  // Recorded by this thread alone: others may copy and wait on streams of their own meanwhile.
  Result<std::unique_ptr<DeviceGraph>> Record(const std::function<Status()>& body) override {
    auto made = std::make_unique<CudaGraph>();
    Status said, caught;
    const Status recorded = CatchC10d("Recording a graph", [&] {
      const c10::cuda::CUDAGuard guard(device_);
      c10::cuda::device_synchronize();
      BeginCapture(made->graph());
      caught = CatchC10d("Recording a graph", [&] { said = body(); });
      Finish(made->graph(), caught.ok() && said.ok());
    });
    if (!caught.ok()) return caught;
    if (!said.ok()) return said;
    if (!recorded.ok()) return recorded;
    return std::unique_ptr<DeviceGraph>(std::move(made));
  }

  void Upload(const at::Tensor& from, const at::Tensor& to) override {
    const c10::cuda::CUDAGuard guard(device_);
    // Its allocator keeps these bytes until the copy is done.
    const at::Tensor pinned = at::empty(from.sizes(), from.options().pinned_memory(true));
    std::memcpy(pinned.mutable_data_ptr(), from.const_data_ptr(), from.nbytes());
    to.copy_(pinned, /*non_blocking=*/true);
  }

 private:
  void BeginCapture(at::cuda::CUDAGraph& graph) {
    try {
      graph.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    } catch (const c10::Error&) {
      LeavePool();
      throw;
    }
  }

  void Finish(at::cuda::CUDAGraph& graph, bool went_well) {
    try {
      graph.capture_end();
    } catch (const c10::Error&) {
      static_cast<void>(cudaGetLastError());
      // A graph that has been recorded leaves the pool by itself, and only such a one names it.
      if (!CatchC10d("", [&] { static_cast<void>(graph.pool()); }).ok()) LeavePool();
      if (went_well) throw;
    }
  }

  // After a recording that went wrong and cannot be ended in order.
  void LeavePool() {
    at::HostAllocator* host = at::getHostAllocator(at::kCUDA);
    static_cast<void>(CatchC10d("", [&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(device_, pool_); }));
    static_cast<void>(CatchC10d("", [&] { host->end_allocate_to_pool(pool_); }));
    static_cast<void>(CatchC10d("", [&] { c10::cuda::CUDACachingAllocator::releasePool(device_, pool_); }));
    static_cast<void>(CatchC10d("", [&] { host->release_pool(pool_); }));
  }

  c10::DeviceIndex device_;
  std::optional<c10::cuda::CUDAStream> before_;
  c10::MempoolId_t pool_{0, 0};
};

}  // namespace

std::unique_ptr<GraphDevice> OpenGraphDevice(int device) {
  return std::make_unique<CudaGraphDevice>(static_cast<c10::DeviceIndex>(device));
}

}  // namespace retort::worker
