// The embedding of the private examples by class (DP-MERF, Harder et al. 2021): sum_i phi(x_i) (x) onehot(y_i), noisy.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/privacy_event.h"
#include "worker/gang/collective.h"
#include "worker/noise/noise_key.h"
#include "worker/release/charge.h"
#include "worker/release/lattice.h"

namespace retort::worker::release {

// Each example adds a vector of norm 1 at most, rounded to the lattice of the noise, to the row of its class, so that
// the sum is exact. Sealed until it is noisy.
class EmbeddingSum {
 public:
  // More examples than a sum holds exactly.
  static constexpr std::int64_t kMaxExamples = std::int64_t{1} << 23;

  EmbeddingSum(EmbeddingSum&&) = default;
  EmbeddingSum& operator=(EmbeddingSum&&) = default;

  // features f32 [examples, features]: longer rows are shortened to norm 1, rows that are not finite count as zero.
  // labels i64 [examples], each in 0..classes-1.
  void Add(const at::Tensor& features, const at::Tensor& labels);
  // Sums over the gang: every rank holds the total.
  [[nodiscard]] Status Reduce(Collective& gang);

 private:
  friend class ClassEmbedding;
  EmbeddingSum(std::int64_t classes, std::int64_t features, const Lattice& lattice);
  at::Tensor sum_;  // f64 [classes, features], in steps, on the CPU
  Lattice lattice_;
  std::int64_t examples_ = 0;
};

struct EmbeddingSettings {
  double noise_multiplier = 5;  // z > 0, the noise's standard deviation: one example changes the sum by 1
  std::int64_t classes = 10;
  std::int64_t features = 10000;
};

// One draw of noise for everything that training sees of the private examples. Adding or removing one changes the
// sum by a vector of norm 1 at most, replacing one by a vector of norm 2.
class ClassEmbedding {
 public:
  // Error: usage.
  [[nodiscard]] static Result<ClassEmbedding> Create(const EmbeddingSettings& settings, noise::NoiseKey key);

  // An empty sum.
  [[nodiscard]] EmbeddingSum NewSum() const;
  // The event of `draws` draws: a Gaussian without subsampling.
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t draws) const;
  // sum + N(0, z^2 I), both on the lattice: f32 [classes, features]. `step` grows.
  [[nodiscard]] Result<at::Tensor> Release(EmbeddingSum&& sum, std::int64_t step, Charge&& charge);

 private:
  ClassEmbedding(const EmbeddingSettings& settings, const Lattice& lattice, noise::NoiseKey key);
  EmbeddingSettings settings_;
  Lattice lattice_;
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
};

}  // namespace retort::worker::release
