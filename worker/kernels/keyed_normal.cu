// Compiled with --fmad=false: the CPU contracts nothing either.
#include "worker/kernels/keyed_normal.h"
#include "worker/noise/box_muller.h"
#include "worker/noise/chacha_block.h"

namespace retort::worker::kernels {
namespace {

constexpr int kThreads = 128;
constexpr int kDrawsPerBlock = 8;  // normals in one ChaCha20 block

// The eight scaled draws [8 block, 8 block + 8).
__device__ void DrawBlock(const NormalStream& stream, std::uint32_t block, double scale, float* draws) {
  std::uint32_t words[16];
  noise::ChaChaBlock(stream.key, block, stream.nonce, words);
  for (int pair = 0; pair < kDrawsPerBlock / 2; ++pair) {
    const std::uint32_t* w = words + 4 * pair;
    const std::uint64_t radius = w[0] | (static_cast<std::uint64_t>(w[1]) << 32);
    const std::uint64_t angle = w[2] | (static_cast<std::uint64_t>(w[3]) << 32);
    double even, odd;
    noise::NormalPair(radius, angle, even, odd);
    draws[2 * pair] = static_cast<float>(scale * even);
    draws[2 * pair + 1] = static_cast<float>(scale * odd);
  }
}

__global__ void KeyedNormal(NormalStream stream, double scale, float* out, std::int64_t count) {
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t first = block * kDrawsPerBlock;
  if (first >= count) return;
  float draws[kDrawsPerBlock];
  DrawBlock(stream, static_cast<std::uint32_t>(block), scale, draws);
  for (int i = 0; i < kDrawsPerBlock && first + i < count; ++i) out[first + i] = draws[i];
}

// One warp a row: bound / (|g| + floor).
__global__ void RowScale(const float* gradient, std::int64_t rows, std::int64_t classes, double bound,
                         double floor, float* row_scale) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  double squares = 0;
  for (std::int64_t c = lane; c < classes; c += 32) {
    const double g = gradient[row * classes + c];
    squares += g * g;
  }
  for (int step = 16; step > 0; step /= 2) squares += __shfl_down_sync(0xffffffffu, squares, step);
  if (lane == 0) row_scale[row] = static_cast<float>(bound / (sqrt(squares) + floor));
}

__global__ void ScaleAndNoise(const float* gradient, std::int64_t count, std::int64_t classes,
                              const float* row_scale, double noise_std, NormalStream stream, float* values) {
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t first = block * kDrawsPerBlock;
  if (first >= count) return;
  float draws[kDrawsPerBlock];
  DrawBlock(stream, static_cast<std::uint32_t>(block), noise_std, draws);
  for (int i = 0; i < kDrawsPerBlock && first + i < count; ++i) {
    const std::int64_t at = first + i;
    values[at] = gradient[at] * row_scale[at / classes] + draws[i];
  }
}

unsigned BlocksFor(std::int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

std::int64_t DrawThreads(std::int64_t count) { return (count + kDrawsPerBlock - 1) / kDrawsPerBlock; }

}  // namespace

cudaError_t LaunchKeyedNormal(const NormalStream& stream, double scale, float* out, std::int64_t count,
                              cudaStream_t on) {
  if (count == 0) return cudaSuccess;
  KeyedNormal<<<BlocksFor(DrawThreads(count)), kThreads, 0, on>>>(stream, scale, out, count);
  return cudaGetLastError();
}

cudaError_t LaunchNormaliseAndNoise(const float* gradient, std::int64_t rows, std::int64_t classes,
                                    double bound, double floor, double noise_std, const NormalStream& stream,
                                    float* row_scale, float* values, cudaStream_t on) {
  const std::int64_t count = rows * classes;
  if (count == 0) return cudaSuccess;
  RowScale<<<BlocksFor(32 * rows), kThreads, 0, on>>>(gradient, rows, classes, bound, floor, row_scale);
  ScaleAndNoise<<<BlocksFor(DrawThreads(count)), kThreads, 0, on>>>(gradient, count, classes, row_scale,
                                                                    noise_std, stream, values);
  return cudaGetLastError();
}

}  // namespace retort::worker::kernels
