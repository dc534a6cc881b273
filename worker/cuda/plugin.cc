// libretort_cuda.so: what of the worker needs CUDA headers, behind plugin_abi.h.
#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <torch/version.h>

#include <cstdio>

#include "worker/cuda/graph_device.h"
#include "worker/cuda/lattice_noise.h"
#include "worker/cuda/nccl_collective.h"
#include "worker/cuda/plugin_abi.h"
#include "worker/gang/c10d_store.h"

namespace retort::worker {
namespace {

int Fail(RetortCudaError* error, const char* text) {
  std::snprintf(error->text, sizeof(error->text), "%s", text);
  return 1;
}

int FromCuda(cudaError_t code, RetortCudaError* error) {
  return code == cudaSuccess ? 0 : Fail(error, cudaGetErrorString(code));
}

std::uint32_t LoadWord(const std::uint8_t* bytes) {
  std::uint32_t word = 0;
  for (int i = 3; i >= 0; --i) word = (word << 8) | bytes[i];
  return word;
}

kernels::NormalStream Words(const RetortNormalStream& stream) {
  kernels::NormalStream words{};
  for (int i = 0; i < 8; ++i) words.key[i] = LoadWord(stream.key + 4 * i);
  for (int i = 0; i < 3; ++i) words.nonce[i] = LoadWord(stream.nonce + 4 * i);
  return words;
}

int DeviceCount(int* count, RetortCudaError* error) {
  const cudaError_t code = cudaGetDeviceCount(count);
  if (code == cudaErrorNoDevice || code == cudaErrorInsufficientDriver) {
    *count = 0;
    cudaGetLastError();  // not sticky, but not to be seen by the next caller either
    return 0;
  }
  return FromCuda(code, error);
}

int JoinNccl(const void* membership, int device, void** collective, RetortCudaError* error) {
  auto joined = JoinNcclGang(*static_cast<const GangMembership*>(membership), device);
  if (!joined.ok()) return Fail(error, joined.status().message().c_str());
  *collective = std::move(joined).value().release();
  return 0;
}

// A graph would repeat the noise with its key and nonce.
bool IsRecording(c10::DeviceIndex index) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t code = cudaStreamIsCapturing(c10::cuda::getCurrentCUDAStream(index).stream(), &status);
  return code != cudaSuccess || status != cudaStreamCaptureStatusNone;
}
constexpr const char* kNoiseIsNotRecorded = "noise is drawn in a step that is being recorded";

int FillLatticeNormal(const RetortNormalStream* stream, double scale, double* out, int64_t count, int device,
                      RetortCudaError* error) {
  const auto index = static_cast<c10::DeviceIndex>(device);
  const c10::cuda::CUDAGuard guard(index);
  if (IsRecording(index)) return Fail(error, kNoiseIsNotRecorded);
  return FromCuda(
      kernels::LaunchLatticeNormal(Words(*stream), scale, out, count, c10::cuda::getCurrentCUDAStream(index).stream()),
      error);
}

int ReleaseMemory(RetortCudaError* error) {
  const Status status = CatchC10d("Giving memory back", [] { c10::cuda::CUDACachingAllocator::emptyCache(); });
  return status.ok() ? 0 : Fail(error, status.message().c_str());
}

int NormaliseAndNoise(const float* gradient, int64_t rows, int64_t classes, const RetortLatticeRows* lattice,
                      const RetortNormalStream* stream, float* values, int device, RetortCudaError* error) {
  int code = 0;
  const Status status = CatchC10d("Noise on the device", [&] {
    const auto index = static_cast<c10::DeviceIndex>(device);
    const c10::cuda::CUDAGuard guard(index);
    if (IsRecording(index)) {
      code = Fail(error, kNoiseIsNotRecorded);
      return;
    }
    const at::Tensor scratch = at::empty({rows}, at::TensorOptions(at::Device(at::kCUDA, index)).dtype(at::kDouble));
    const kernels::LatticeRows rule{lattice->step, lattice->target, lattice->longest, lattice->floor, lattice->scale};
    code = FromCuda(
        kernels::LaunchNormaliseAndNoise(gradient, rows, classes, rule, Words(*stream), scratch.data_ptr<double>(),
                                         values, c10::cuda::getCurrentCUDAStream(index).stream()),
        error);
  });
  return status.ok() ? code : Fail(error, status.message().c_str());
}

int OpenGraphs(int device, void** graph_device, RetortCudaError* error) {
  const Status status =
      CatchC10d("Opening the device for graphs", [&] { *graph_device = OpenGraphDevice(device).release(); });
  return status.ok() ? 0 : Fail(error, status.message().c_str());
}

constexpr RetortCudaAbi kAbi = {RETORT_CUDA_ABI_VERSION, TORCH_VERSION, DeviceCount,       JoinNccl,
                                FillLatticeNormal,       ReleaseMemory, NormaliseAndNoise, OpenGraphs};

}  // namespace
}  // namespace retort::worker

extern "C" __attribute__((visibility("default"))) const RetortCudaAbi* retort_cuda_abi() {
  return &retort::worker::kAbi;
}
