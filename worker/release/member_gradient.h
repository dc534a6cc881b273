// Noise on gradients that are summed over the members of an ensemble (DPDFD section 4.4; FedDPSD, Algorithm 2 with
// s = 1).
#pragma once

#include <cstdint>
#include <memory>

#include "worker/noise/noise_kernels.h"
#include "worker/release/lattice.h"
#include "worker/release/mechanism.h"
#include "worker/release/output_gradient.h"

namespace retort::worker::release {

struct MemberGradientSettings {
  GradientRule rule;
  double sigma = 100;        // noise over norm bound
  std::int64_t batch = 256;  // B, the global batch
  std::int64_t classes = 10;
  std::int64_t members = 10;
  bool each_draws = false;      // every member adds its own noise and trusts no other; else one draw on the sum
  bool trusted_server = false;  // a server that sees the answers adds it: named among the assumptions
};

// With g_ij the gradient of member j at row i's student logits, towards the member's own label, and N a fresh
// standard normal vector of all classes:
//   g~_i = (sum_j C g^_ij + sigma C N_i) / n, or with each_draws (sum_j (C g^_ij + sigma C N_ij)) / n.
// A replaced member moves the sum of a row by 2C at most, against noise of deviation sigma C: that on the sum, or
// its own. Where the norm is that of a member's whole batch, as printed, no row's is larger: the event, which lets
// every row move by as much, holds as it stands.
class MemberGradient final : public Mechanism {
 public:
  // `kernels`: those of the device that the answers lie on; null: the CPU's. They outlive the mechanism. Error:
  // usage.
  [[nodiscard]] static Result<std::unique_ptr<MemberGradient>> Create(const MemberGradientSettings& settings,
                                                                      noise::NoiseKey key,
                                                                      noise::NoiseKernels* kernels = nullptr);
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Refused, too, when the members answered by another rule than the event rests on.
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

 private:
  MemberGradient(const MemberGradientSettings& settings, const Lattice& lattice, noise::NoiseKey key,
                 noise::NoiseKernels* kernels);
  [[nodiscard]] Result<at::Tensor> Noise(std::int64_t step, const at::Tensor& like);
  MemberGradientSettings settings_;
  Lattice lattice_;
  noise::NoiseKey key_;
  noise::HostNoise host_;
  noise::NoiseKernels* kernels_;
  std::int64_t last_step_ = -1;
};

}  // namespace retort::worker::release
