// Device twins of worker/noise. No torch header here: these files compile in seconds.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace retort::worker::kernels {

// Key and nonce as ChaCha20 words, little endian as loaded from bytes.
struct NormalStream {
  std::uint32_t key[8];
  std::uint32_t nonce[3];
};

// As noise::LatticeRows.
struct LatticeRows {
  double step, target, longest, floor, scale;
};

// out[i] = draw i of the lattice Gaussian, i in [0, count): the numbers of noise::FillLatticeNormal with first = 0. A
// draw that even its further bits leave open (probability below 2^-120) is NaN.
cudaError_t LaunchLatticeNormal(const NormalStream& stream, double scale, double* out, std::int64_t count,
                                cudaStream_t on);

// As noise::NoiseKernels::NormaliseAndNoise; factor: scratch of `rows` doubles.
cudaError_t LaunchNormaliseAndNoise(const float* gradient, std::int64_t rows, std::int64_t classes,
                                    const LatticeRows& lattice, const NormalStream& stream, double* factor,
                                    float* values, cudaStream_t on);

}  // namespace retort::worker::kernels
