// One DP-SGD step (Abadi et al. 2016): clip each example's gradient, sum, add noise.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/privacy_event.h"
#include "worker/gang/collective.h"
#include "worker/noise/noise_key.h"
#include "worker/release/charge.h"
#include "worker/release/lattice.h"

namespace retort::worker::release {

// A sum of per-example gradients, each clipped to norm C and rounded to the lattice of its noise as it enters, so that
// the sum is exact. Sealed until it is noisy.
class ClippedSum {
 public:
  // More examples than a sum holds exactly.
  static constexpr std::int64_t kMaxExamples = std::int64_t{1} << 22;

  ClippedSum(ClippedSum&&) = default;
  ClippedSum& operator=(ClippedSum&&) = default;

  // gradients [examples, coordinates] f32, one row for each example; a row that is not finite counts as zero. Mean
  // squared norms are not kept: they would be a release.
  void Add(const at::Tensor& gradients);
  // The same of gradients that are outer products, row i's left_i [a] times right_i [b] flattened, without making them:
  // left f32 [examples, a], right f32 [examples, b], a * b coordinates, clipped as a whole.
  void AddOuter(const at::Tensor& left, const at::Tensor& right);
  // Sums over the gang: every rank holds the total.
  [[nodiscard]] Status Reduce(Collective& gang);

 private:
  friend class DpSgdStep;
  ClippedSum(std::int64_t coordinates, const Lattice& lattice, std::vector<std::int64_t> layers);
  // Sums lie where the gradients do, so that nothing waits for them.
  void MoveTo(const at::Tensor& gradients);
  at::Tensor sum_;  // f64 [coordinates], in steps
  Lattice lattice_;
  std::vector<std::int64_t> layers_;
  std::int64_t examples_ = 0;
};

struct DpSgdSettings {
  double norm_bound = 0.1;
  double noise_multiplier = 1;   // noise std over norm_bound
  double sampling_rate = 0.1;    // Poisson q
  std::int64_t batch = 1024;     // expected examples of a step
  std::int64_t coordinates = 0;  // flattened parameters
};

class DpSgdStep {
 public:
  [[nodiscard]] static Result<DpSgdStep> Create(const DpSgdSettings& settings, noise::NoiseKey key);
  // Of a trial whose method is dpsgd (teacher or student): q = batch / size of the train range.
  [[nodiscard]] static Result<DpSgdStep> FromSpec(const TrialSpec& spec, std::int64_t coordinates);

  // An empty sum for a step. `layers`: coordinates of each of L layers, in order; every layer's part of a gradient is
  // then clipped by itself to C / sqrt(L) (McMahan et al. 2018), so that the whole has norm C at most. Empty: the
  // gradient is clipped as a whole.
  [[nodiscard]] ClippedSum NewSum(std::vector<std::int64_t> layers = {}) const;
  // The event of `steps` steps.
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t steps) const;
  // sum + N(0, (multiplier C)^2 I), both on the lattice: f32 [coordinates]; not divided by the batch. `step` grows.
  [[nodiscard]] Result<at::Tensor> Release(ClippedSum&& sum, std::int64_t step, Charge&& charge);

 private:
  DpSgdStep(const DpSgdSettings& settings, const Lattice& lattice, noise::NoiseKey key);
  DpSgdSettings settings_;
  Lattice lattice_;
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
};

}  // namespace retort::worker::release
