// N(0, s^2) rounded to the nearest integer, exactly: a post-processing of the ideal continuous
// Gaussian, so that exact Gaussian DP applies (Karney 2016 samples the same law by rejection).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/noise/chacha_stream.h"

namespace retort::worker::noise {

// Inversion: with v uniform on (0, 1), the magnitude is the number of k >= 0 with v < E_k, where
// E_k = erfc((k + 1/2) / (s sqrt 2)); the sign is one more bit. v is known by its first 64 bits and
// E_k by a double with a stated relative error; whenever these do not decide, v gets more bits and
// E_k is evaluated with 50 digits, then 100. Immutable and thread-safe after construction.
class LatticeGaussian {
 public:
  static constexpr double kMinScale = 0x1p-6;
  static constexpr double kMaxScale = 0x1p20;
  // Bound on the relative error of the tabulated E_k: 1 to 1.5 ulp of the argument, amplified by at
  // most 2x^2 + 1 <= 91 (x <= 6.7), and 8 ulp of erfc, stay under 2^-43.
  static constexpr double kRelativeError = 0x1p-42;

  // `scale` is s, in units of the lattice. Error: usage, when outside [kMinScale, kMaxScale].
  [[nodiscard]] static Result<LatticeGaussian> Create(double scale);

  [[nodiscard]] double scale() const { return scale_; }
  void Sample(ChaChaStream& bits, std::span<std::int32_t> out) const;
  // One draw whose first 64 bits of v are `prefix`; further bits come from `bits`.
  [[nodiscard]] std::int32_t Draw(std::uint64_t prefix, bool negative, ChaChaStream& bits) const;

 private:
  LatticeGaussian() = default;
  // Is v < E_k? v = 0.prefix followed by fresh bits, which `tail` collects so that v stays one number.
  [[nodiscard]] bool Below(std::uint64_t prefix, std::vector<std::uint64_t>& tail, std::int64_t k,
                           ChaChaStream& bits) const;

  double scale_ = 0;
  // 2^64 E_k lies in [low_[k], high_[k]]; decreasing in k; ends where it falls below 1.
  std::vector<std::uint64_t> low_, high_;
  std::vector<std::int32_t> guide_;  // by the top bits of v: all smaller k have v < E_k surely
  int guide_shift_ = 64;
};

// P[X = k] in double, for tests and audits; relative error about 1e-15 s.
[[nodiscard]] double LatticeGaussianProbability(double scale, std::int64_t k);

}  // namespace retort::worker::noise
