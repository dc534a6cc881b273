// How many validation examples a student classifies right, noisy: what candidates of a private selection are compared
// by.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/privacy_event.h"
#include "worker/noise/lattice_samplers.h"
#include "worker/noise/noise_key.h"
#include "worker/release/charge.h"

namespace retort::worker::release {

// A number of private examples. Sealed until it is noisy.
class ValidationCount {
 public:
  ValidationCount() = default;
  ValidationCount(ValidationCount&&) = default;
  ValidationCount& operator=(ValidationCount&&) = delete;
  ValidationCount(const ValidationCount&) = delete;
  ValidationCount& operator=(const ValidationCount&) = delete;

  // Counts each row whose largest logit is that of its label, once: logits f32 [n, classes], labels i64 [n]. Of equal
  // logits the first is the largest; one that is no number is not among the largest.
  void Add(const at::Tensor& logits, const at::Tensor& labels);

 private:
  friend class ValidationScore;
  std::int64_t right_ = 0;
};

// One draw of noise for one count. An example that is added, removed or replaced by any other moves the count by 1 at
// most.
class ValidationScore {
 public:
  // `spec`: a trial whose score_noise is above 0. Error: usage, when that is outside the exact sampler's range.
  [[nodiscard]] static Result<ValidationScore> Create(const TrialSpec& spec, noise::NoiseKey key);

  // The event of the draw, without facts.
  [[nodiscard]] privacy::PrivacyEvent Describe() const;
  // The count plus N(0, score_noise^2) rounded to a whole number: i64 [1] on the CPU. Error: refused, when the charge
  // does not cover it, or after a first draw.
  [[nodiscard]] Result<at::Tensor> Release(ValidationCount&& count, Charge&& charge);

 private:
  ValidationScore(noise::LatticeGaussian lattice, noise::NoiseKey key);
  noise::LatticeGaussian lattice_;
  noise::NoiseKey key_;
  bool drawn_ = false;
};

}  // namespace retort::worker::release
