// Integer Gaussian noise on an ensemble's vote histogram: H = votes + noise, both integers.
#pragma once

#include <memory>

#include "worker/noise/lattice_samplers.h"
#include "worker/release/answer_memory.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

// grain G = 1: one-hot votes ("noisy votes"); more: floor(G softmax) of every member ("noisy probabilities").
// When one member changes, the histogram moves by sqrt(2) G at most (ComputeVoteShares in answers.h), and the noise is
// s G.
struct VoteSettings {
  double scale = 40;  // s > 0, in votes
  std::int64_t classes = 10;
  std::int64_t grain = 1;  // 1 to 1024, so that the counts of a million members fit
  // What leaves is the first class of the noisy histogram, as a row of one 1, and nothing else of it.
  bool first_class = false;
};

// The settings that the trial's keys ask for.
[[nodiscard]] inline VoteSettings MakeVoteSettings(const TrialSpec& spec, std::int64_t classes) {
  return {.scale = spec.release.vote_noise,
          .classes = classes,
          .grain = spec.release.grain,
          .first_class = spec.release.threshold_noise > 0};
}

// Answers are remembered by the exact bytes of the query row: the same bytes never get fresh noise.
class NoisyVotes final : public Mechanism {
 public:
  // Error: usage, when grain or scale * grain is outside the exact sampler's range.
  [[nodiscard]] static Result<std::unique_ptr<NoisyVotes>> Create(const VoteSettings& settings, noise::NoiseKey key);
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Distinct rows of the answers that are not remembered yet.
  [[nodiscard]] std::int64_t DrawsFor(const Answers& answers) const override;
  // Released.values: i32 [rows, classes] on the CPU, in parts of a vote, for every row, remembered or fresh; with
  // first_class one-hot rows.
  // Refused, too, when the members voted at another grain.
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

  [[nodiscard]] VoteMemory Save() const { return memory_.Save(); }
  // Replaces what is remembered.
  void Restore(const VoteMemory& memory) { memory_.Restore(memory); }
  // Adds what the transcript holds: inputs [rows, ...] as queried, values i32 [rows, classes].
  void Remember(const at::Tensor& inputs, const at::Tensor& values) { memory_.Remember(inputs, values); }

 private:
  NoisyVotes(const VoteSettings& settings, noise::LatticeGaussian lattice, noise::NoiseKey key);
  VoteSettings settings_;
  noise::LatticeGaussian lattice_;
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
  AnswerMemory memory_;
};

}  // namespace retort::worker::release
