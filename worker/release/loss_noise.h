// RONA (AAAI-19, Algorithm 2) as printed: noise on the value of a batch's loss. The noise does not depend on
// the student, so it is no part of the gradient that trains it: no claim of it has a finite bound.
#pragma once

#include <memory>

#include "worker/release/mechanism.h"

namespace retort::worker::release {

struct LossSettings {
  double sigma = 10;       // noise over norm bound
  double norm_bound = 1;   // B > 0, of the batch's loss
  double temperature = 3;  // of the distillation loss
  std::int64_t batch = 256;
  std::int64_t classes = 10;
};

// L = mean over rows of CE(softmax(teacher / T), softmax(student / T)); L' = L / max(1, L / B);
// L~ = L' + N(0, sigma^2 B^2). The student descends d L~ / d student logits = d L' / d student logits, which
// is d L for L <= B and 0 above.
class LossNoise final : public Mechanism {
 public:
  // Error: usage.
  [[nodiscard]] static Result<std::unique_ptr<LossNoise>> Create(const LossSettings& settings,
                                                                 noise::NoiseKey key);
  // One draw a batch, in units of the norm bound.
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Released.values: d L~ / d student logits f32 [rows, classes]; Released.loss: L~ f32 [].
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

  // The bound for the releases to come (B > 0, computed without the teacher): the paper adapts it.
  void SetNormBound(double norm_bound);

 private:
  LossNoise(const LossSettings& settings, noise::NoiseKey key);
  LossSettings settings_;
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
};

}  // namespace retort::worker::release
