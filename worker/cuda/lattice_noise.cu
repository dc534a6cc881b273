// Compiled with --fmad=false: the CPU contracts nothing either.
#include "worker/cuda/lattice_noise.h"
#include "worker/noise/chacha_block.h"
#include "worker/noise/lattice_pair.h"

namespace retort::worker::kernels {
namespace {

constexpr int kThreads = 128;
constexpr int kDrawsPerBlock = 8;                  // normals in one ChaCha20 block
constexpr std::uint32_t kExtension = 0x80000000u;  // noise::kExtension

__device__ std::uint64_t WordAt(const std::uint32_t* words, int i) {
  return words[2 * i] | (static_cast<std::uint64_t>(words[2 * i + 1]) << 32);
}

// The further words of a pair: two blocks of the stream's extension.
__device__ __noinline__ void LoadMore(const NormalStream& stream, std::uint32_t pair, noise::PairBits& bits) {
  const std::uint32_t nonce[3] = {stream.nonce[0], stream.nonce[1], stream.nonce[2] | kExtension};
  std::uint32_t words[32];
  noise::ChaChaBlock(stream.key, 2 * pair, nonce, words);
  noise::ChaChaBlock(stream.key, 2 * pair + 1, nonce, words + 16);
  for (int i = 0; i < noise::PairBits::kMore; ++i) {
    bits.more_radius[i] = WordAt(words, i);
    bits.more_angle[i] = WordAt(words, noise::PairBits::kMore + i);
  }
}

// The eight draws [8 block, 8 block + 8).
__device__ void DrawBlock(const NormalStream& stream, std::uint32_t block, double scale, double* draws) {
  std::uint32_t words[16];
  noise::ChaChaBlock(stream.key, block, stream.nonce, words);
  for (int i = 0; i < kDrawsPerBlock / 2; ++i) {
    noise::PairBits bits;
    bits.radius = WordAt(words, 2 * i);
    bits.angle = WordAt(words, 2 * i + 1);
    const std::uint32_t pair = block * (kDrawsPerBlock / 2) + i;
    noise::LatticePair(
        bits, scale, [&] { LoadMore(stream, pair, bits); }, draws[2 * i], draws[2 * i + 1]);
  }
}

__global__ void LatticeNormal(NormalStream stream, double scale, double* out, std::int64_t count) {
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t first = block * kDrawsPerBlock;
  if (first >= count) return;
  double draws[kDrawsPerBlock];
  DrawBlock(stream, static_cast<std::uint32_t>(block), scale, draws);
  for (int i = 0; i < kDrawsPerBlock && first + i < count; ++i) out[first + i] = draws[i];
}

// Of a warp's 32 partial sums, in lane 0.
__device__ double WarpSum(double squares) {
  for (int step = 16; step > 0; step /= 2) squares += __shfl_down_sync(0xffffffffu, squares, step);
  return squares;
}

// One warp a row: what the row is multiplied by before it is rounded; 0: the row counts as zeros.
__global__ void RowFactor(const float* gradient, std::int64_t rows, std::int64_t classes, LatticeRows lattice,
                          double* factor) {
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  double squares = 0;
  for (std::int64_t c = lane; c < classes; c += 32) {
    const double g = gradient[row * classes + c];
    squares += g * g;
  }
  const double norm = sqrt(__shfl_sync(0xffffffffu, WarpSum(squares), 0));
  const double wanted = lattice.target / (norm + lattice.floor);
  double rounded = 0;
  for (std::int64_t c = lane; c < classes; c += 32) {
    const double q = noise::NearestWhole(gradient[row * classes + c] * wanted);
    rounded += q * q;
  }
  rounded = WarpSum(rounded);
  if (lane == 0) factor[row] = rounded <= noise::LongestSquare(lattice.longest) ? wanted : 0.0;
}

__global__ void RoundAndNoise(const float* gradient, std::int64_t count, std::int64_t classes, const double* factor,
                              LatticeRows lattice, NormalStream stream, float* values) {
  const std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t first = block * kDrawsPerBlock;
  if (first >= count) return;
  double draws[kDrawsPerBlock];
  DrawBlock(stream, static_cast<std::uint32_t>(block), lattice.scale, draws);
  for (int i = 0; i < kDrawsPerBlock && first + i < count; ++i) {
    const std::int64_t at = first + i;
    const double by = factor[at / classes];
    const double kept = by == 0 ? 0.0 : noise::NearestWhole(gradient[at] * by);
    values[at] = static_cast<float>(lattice.step * (kept + draws[i]));
  }
}

unsigned BlocksFor(std::int64_t threads) { return static_cast<unsigned>((threads + kThreads - 1) / kThreads); }

std::int64_t DrawThreads(std::int64_t count) { return (count + kDrawsPerBlock - 1) / kDrawsPerBlock; }

}  // namespace

cudaError_t LaunchLatticeNormal(const NormalStream& stream, double scale, double* out, std::int64_t count,
                                cudaStream_t on) {
  if (count == 0) return cudaSuccess;
  LatticeNormal<<<BlocksFor(DrawThreads(count)), kThreads, 0, on>>>(stream, scale, out, count);
  return cudaGetLastError();
}

cudaError_t LaunchNormaliseAndNoise(const float* gradient, std::int64_t rows, std::int64_t classes,
                                    const LatticeRows& lattice, const NormalStream& stream, double* factor,
                                    float* values, cudaStream_t on) {
  const std::int64_t count = rows * classes;
  if (count == 0) return cudaSuccess;
  RowFactor<<<BlocksFor(32 * rows), kThreads, 0, on>>>(gradient, rows, classes, lattice, factor);
  RoundAndNoise<<<BlocksFor(DrawThreads(count)), kThreads, 0, on>>>(gradient, count, classes, factor, lattice, stream,
                                                                    values);
  return cudaGetLastError();
}

}  // namespace retort::worker::kernels
