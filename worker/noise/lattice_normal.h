// Counter-based Gaussians rounded to whole numbers, exactly: draw i of a stream depends on (key, stream, i) alone, so
// neither threads nor device change it. The CUDA kernel gives the same numbers.
#pragma once

#include <cstdint>
#include <span>

#include "experiments/base/status.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::noise {

// Error: usage, where `scale` (the standard deviation in steps of the lattice) is outside what can be drawn exactly.
[[nodiscard]] Status CheckLatticeScale(double scale);

// Writes draws [first, first + out.size()) of N(0, scale^2), each rounded to the nearest whole number: 64 bits of
// ChaCha20 through Box-Muller, and more bits where these leave the rounding open (lattice_pair.h). first is a multiple
// of 8, draws are below 2^32. `scale` as CheckLatticeScale allows.
void FillLatticeNormal(const NoiseKey& key, StreamId stream, std::uint64_t first, double scale, std::span<double> out);

}  // namespace retort::worker::noise
