// Noise on normalised output gradients (DPDFD Algorithm 1 and its readings).
#pragma once

#include "worker/noise/noise_kernels.h"
#include "worker/release/lattice.h"
#include "worker/release/mechanism.h"
#include "worker/release/output_gradient.h"

namespace retort::worker::release {

struct GradientSettings : GradientRule {
  Reading reading = Reading::working;
  double sigma = 100;        // noise over norm bound, as printed
  std::int64_t batch = 256;  // B, the global batch
  std::int64_t classes = 10;
  bool detach = true;                     // false: the release keeps its graph to the inputs; claims unbounded
  bool noise_by_row = false;              // printed: a draw for every row inside the sum (DPSD eq. 3)
  bool teacher_drives_generator = false;  // a generator trained with the raw teacher makes the queries
};

// With g_i the distillation gradient at row i's student logits and N a fresh standard normal vector of
// all classes:
//   working, stated
//                 g~_i = C g^_i + (sigma C / B) N_i
//   row-averaged  g~_i = (C g^_i + sigma C N_i) / B
//   printed       g~   = (sum_i C g^_i + sigma C N) / B, the same vector for every row; with noise_by_row
//                        (sum_i (C g^_i + sigma C N_i)) / B, drawn as one vector of deviation sqrt(B) sigma C
// C g^ is ComputeLatticeGradient's, and N is rounded to the same lattice. The noise has all classes, whichever the mask
// of top_k kept. With detach = false C g^ is ComputeBoundedGradient's, with its graph.
class GaussianGradient final : public Mechanism {
 public:
  // `kernels`: those of the device that the answers lie on; null: the CPU's. They outlive the mechanism.
  [[nodiscard]] static Result<std::unique_ptr<GaussianGradient>> Create(const GradientSettings& settings,
                                                                        noise::NoiseKey key,
                                                                        noise::NoiseKernels* kernels = nullptr);
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;
  [[nodiscard]] Result<at::Tensor> MakeGraph(const Answers& answers) const override;

 private:
  GaussianGradient(const GradientSettings& settings, const Lattice& lattice, noise::NoiseKey key,
                   noise::NoiseKernels* kernels);
  [[nodiscard]] Status Check(const Answers& answers) const;
  [[nodiscard]] at::Tensor Bounded(const Answers& answers) const;
  [[nodiscard]] Result<at::Tensor> NormalisedRows(const Answers& answers, noise::StreamId stream);
  [[nodiscard]] at::Tensor AsReading(const at::Tensor& bounded, const at::Tensor& noise) const;
  GradientSettings settings_;
  Lattice lattice_;
  noise::NoiseKey key_;
  noise::HostNoise host_;
  noise::NoiseKernels* kernels_;
  std::int64_t last_step_ = -1;
};

}  // namespace retort::worker::release
