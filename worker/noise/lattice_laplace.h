// The Laplace law on whole numbers: P[X = k] proportional to exp(-|k| / t).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "experiments/spec/status.h"
#include "worker/noise/chacha_stream.h"

namespace retort::worker::noise {

// The difference of two geometric variables of ratio exp(-1/t). The binary digits of such a variable are
// independent, digit j being 1 with probability p_j = 1 / (1 + exp(2^j / t)), so each is one comparison of random
// bits with a threshold: 64 bits of it, and 64 more where these do not decide. p_j is known to a part in 2^50; it is
// that of a scale larger by a part in 2^20, which outweighs the error: what is drawn gives away no more than the
// law of scale t does, but for an event of probability below 2^-60.
// Immutable and thread-safe after construction.
class LatticeLaplace {
 public:
  static constexpr double kMinScale = 0x1p-4;
  static constexpr double kMaxScale = 0x1p50;

  // `scale` is t, in units of the lattice. Error: usage, when outside [kMinScale, kMaxScale].
  [[nodiscard]] static Result<LatticeLaplace> Create(double scale);

  [[nodiscard]] double scale() const { return scale_; }
  void Sample(ChaChaStream& bits, std::span<std::int64_t> out) const;

 private:
  LatticeLaplace() = default;
  [[nodiscard]] std::int64_t Geometric(ChaChaStream& bits) const;
  double scale_ = 0;
  struct Threshold {
    std::uint64_t high, low;  // 2^128 p_j
  };
  std::vector<Threshold> thresholds_;  // of digit j
};

// P[X = k] in double.
[[nodiscard]] double LatticeLaplaceProbability(double scale, std::int64_t k);

}  // namespace retort::worker::noise
