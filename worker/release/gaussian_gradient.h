// Noise on normalised output gradients (DPDFD Algorithm 1 and its readings).
#pragma once

#include "worker/noise/noise_kernels.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

struct GradientSettings {
  Reading reading = Reading::working;
  Normalization normalization = Normalization::row;
  DistillationLoss loss = DistillationLoss::dkd;
  double sigma = 100;        // noise over norm bound, as printed
  double norm_bound = 1e-3;  // C > 0
  double floor = 1e-4;       // e in C g / (|g| + e)
  std::int64_t batch = 256;  // B, the global batch
  std::int64_t classes = 10;
  double alpha = 1, beta = 8;  // DKD: TCKD and NCKD weights
  double temperature = 1;
  bool detach = true;  // false: the release keeps its graph to the inputs; claims unbounded
};

// With g_i the distillation gradient at row i's student logits and N a fresh standard normal vector of
// all classes:
//   working       g~_i = C g^_i + (sigma C / B) N_i
//   row-averaged  g~_i = (C g^_i + sigma C N_i) / B
//   printed       g~   = (sum_i C g^_i + sigma C N) / B, the same vector for every row
// g^ = g / (|g| + e) with |.| of the row or (frobenius) of the batch; clip: g / max(|g|, 1) with |g| in units
// of C.
class GaussianGradient final : public Mechanism {
 public:
  // `kernels`: those of the device that the answers lie on; null: the CPU's. They outlive the mechanism.
  [[nodiscard]] static Result<std::unique_ptr<GaussianGradient>> Create(
      const GradientSettings& settings, noise::NoiseKey key, noise::NoiseKernels* kernels = nullptr);
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;
  [[nodiscard]] Result<at::Tensor> GraphOf(const Answers& answers) const override;

 private:
  GaussianGradient(const GradientSettings& settings, noise::NoiseKey key, noise::NoiseKernels* kernels);
  [[nodiscard]] at::Tensor Gradient(const Answers& answers) const;
  [[nodiscard]] at::Tensor Bounded(const Answers& answers) const;
  [[nodiscard]] at::Tensor AsReading(const at::Tensor& bounded, const at::Tensor& noise) const;
  GradientSettings settings_;
  noise::NoiseKey key_;
  noise::HostNoise host_;
  noise::NoiseKernels* kernels_;
  std::int64_t last_step_ = -1;
};

// d loss / d student logits for every row, in closed form: [rows, classes] f32, each row sums to zero.
// DKD (Zhao et al. 2022, eq. 7) with target r = argmax of the teacher:
//   T [ alpha (p_r - t_r)(e_r - p^) + beta (p^ - t^) ],
// p, t softmax at temperature T of student and teacher; p^, t^ the same over the classes other than r.
[[nodiscard]] at::Tensor DistillationGradient(DistillationLoss loss, const at::Tensor& student_logits,
                                              const at::Tensor& teacher_logits, double alpha, double beta,
                                              double temperature);

// C g / (|g| + e) by row or batch, or C g / max(|g|, C) for clip. [rows, classes] -> same shape.
[[nodiscard]] at::Tensor NormaliseGradient(const at::Tensor& gradient, Normalization normalization,
                                           double norm_bound, double floor);

}  // namespace retort::worker::release
