// Integer Gaussian noise on an ensemble's vote histogram: H = votes + noise, both integers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/noise/lattice_gaussian.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

// Votes are one-hot: when one member changes, one vote moves, an L2 distance of sqrt(2) by integers.
struct VoteSettings {
  double scale = 40;  // s > 0, in votes
  std::int64_t classes = 10;
};

// What was released so far, for a checkpoint: u8 [rows, 32] and i32 [rows, classes].
struct VoteMemory {
  at::Tensor digests;
  at::Tensor values;
};

// Answers are remembered by the exact bytes of the query row: the same bytes never get fresh noise.
class NoisyVotes final : public Mechanism {
 public:
  // Error: usage, when the scale is outside the exact sampler's range.
  [[nodiscard]] static Result<std::unique_ptr<NoisyVotes>> Create(const VoteSettings& settings,
                                                                  noise::NoiseKey key);
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Distinct rows of the answers that are not remembered yet.
  [[nodiscard]] std::int64_t DrawsFor(const Answers& answers) const override;
  // Released.values: i32 [rows, classes] on the CPU, for every row, remembered or fresh.
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

  [[nodiscard]] VoteMemory Save() const;
  // Replaces what is remembered.
  void Restore(const VoteMemory& memory);
  // Adds what the transcript holds: inputs [rows, ...] as queried, values i32 [rows, classes].
  void Remember(const at::Tensor& inputs, const at::Tensor& values);

 private:
  NoisyVotes(const VoteSettings& settings, noise::LatticeGaussian lattice, noise::NoiseKey key);
  VoteSettings settings_;
  noise::LatticeGaussian lattice_;
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
  std::map<std::string, std::vector<std::int32_t>> remembered_;  // by digest of the row's bytes
};

}  // namespace retort::worker::release
