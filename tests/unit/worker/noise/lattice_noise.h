// The noise that a mechanism adds, drawn apart from it.
#pragma once

#include <ATen/ATen.h>

#include <span>
#include <vector>

#include "worker/noise/lattice_normal.h"
#include "worker/release/lattice.h"

namespace retort::worker::release {

// f32 of `shape`: noise of deviation noise_std on the lattice of norm_bound.
inline at::Tensor LatticeNoise(const noise::NoiseKey& key, noise::StreamId stream, double norm_bound, double noise_std,
                               const std::vector<std::int64_t>& shape) {
  const Lattice lattice = Lattice::For(norm_bound, noise_std).value();
  at::Tensor drawn = at::empty(shape, at::kDouble);
  noise::FillLatticeNormal(key, stream, 0, lattice.scale,
                           std::span(drawn.data_ptr<double>(), static_cast<std::size_t>(drawn.numel())));
  return lattice.ToFloat(drawn);
}

}  // namespace retort::worker::release
