// RONA (AAAI-19): noise on the value of a loss. The noise does not depend on the student, so it is no part of the
// gradient that trains it: no claim of it has a finite bound.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "worker/release/lattice.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

// The losses of RONA (AAAI-19) against a teacher's answers, a row each, and their gradients at the student's outputs.
struct RowLosses {
  at::Tensor losses;     // f32 [rows]
  at::Tensor gradients;  // f32, of the student's shape: each row's of its own loss
};

// Eq. 4: CE(softmax(teacher / T), softmax(student / T)), without the factor T^2. Both logits f32 [rows, classes].
[[nodiscard]] RowLosses ComputeDistillationLosses(const at::Tensor& teacher, const at::Tensor& student,
                                                  double temperature);

// Eq. 3: |adapted - hint|^2 / 2. Both f32 [rows, channels, height, width].
[[nodiscard]] RowLosses HintLosses(const at::Tensor& hint, const at::Tensor& adapted);

// The value that is clipped and noised: the batch's loss (Algorithm 2), or each row's (the authors' public code).
enum class LossUnit : std::uint8_t { batch, row };

struct LossSettings {
  double sigma = 10;       // noise over norm bound
  double norm_bound = 1;   // B > 0, of a loss
  double temperature = 3;  // of the distillation loss
  std::int64_t batch = 256;
  std::int64_t classes = 10;
  LossUnit unit = LossUnit::batch;
};

// Row losses l_i: distillation CE(softmax(teacher / T), softmax(student / T)) (Eq. 4), or, of queries with a
// student_hint r, |r - hint|^2 / 2 (Eq. 3).
//   batch: L~ = L' + N(0, sigma^2 B^2), L' = L / max(1, L / B), L the mean of l_i.
//   row: L~ the mean of l_i' + N_i(0, sigma^2 B^2), l_i' = l_i min(1, B / l_i).
// The student descends d L~ / d (its logits, or r), in which the noise has no part, and what lies above B has none
// either.
class LossNoise final : public Mechanism {
 public:
  // Error: usage.
  [[nodiscard]] static Result<std::unique_ptr<LossNoise>> Create(const LossSettings& settings, noise::NoiseKey key);
  // One draw a batch, or a row, in units of the norm bound.
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Released.values: the gradient f32, of the shape of student_logits or student_hint; Released.loss: L~ f32 [].
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

  // The bound for the releases to come (B > 0, computed without the teacher): the paper adapts it.
  void SetNormBound(double norm_bound);

 private:
  LossNoise(const LossSettings& settings, const Lattice& lattice, noise::NoiseKey key);
  [[nodiscard]] Status Check(const Answers& answers) const;
  [[nodiscard]] Released Clipped(const RowLosses& answered, std::int64_t step) const;
  LossSettings settings_;
  Lattice lattice_;  // of a loss in units of the norm bound
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
};

}  // namespace retort::worker::release
