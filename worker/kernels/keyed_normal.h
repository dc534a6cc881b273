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

// out[i] = float(scale * draw i), i in [0, count): the bits of noise::FillNormal with first = 0.
cudaError_t LaunchKeyedNormal(const NormalStream& stream, double scale, float* out, std::int64_t count,
                              cudaStream_t on);

// values = bound * g_i / (|g_i| + floor) + noise_std * N for every row g_i of gradient [rows, classes];
// row_scale: scratch of `rows` floats. Draw row * classes + c belongs to values[row, c].
cudaError_t LaunchNormaliseAndNoise(const float* gradient, std::int64_t rows, std::int64_t classes,
                                    double bound, double floor, double noise_std, const NormalStream& stream,
                                    float* row_scale, float* values, cudaStream_t on);

}  // namespace retort::worker::kernels
