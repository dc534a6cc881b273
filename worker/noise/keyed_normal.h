// Counter-based standard normals in float: draw i of a stream depends on (key, stream, i) alone, so
// neither threads nor device change it. The CUDA kernel gives the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "worker/noise/noise_key.h"

namespace retort::worker::noise {

// Writes draws [first, first + out.size()) of N(0, 1), each 64 bits of ChaCha20 through Box-Muller in
// double, times `scale` in double, rounded to float. |draw| <= 9.5 * scale. first is a multiple of 8.
void FillNormal(const NoiseKey& key, StreamId stream, std::uint64_t first, double scale,
                std::span<float> out);

}  // namespace retort::worker::noise
