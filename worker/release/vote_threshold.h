// Whether an ensemble agrees about a query, with noise: the largest count of its votes against a threshold.
#pragma once

#include <cstdint>
#include <memory>

#include "worker/noise/lattice_samplers.h"
#include "worker/release/answer_memory.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

// Members give one vote each (grain 1), so that another vote of one of them moves the largest count by 1 at most.
struct ThresholdSettings {
  std::int64_t threshold = 1;  // in votes
  double scale = 40;           // s1 > 0, in votes
};

// Answers are remembered by the exact bytes of the query row: the same bytes never get fresh noise.
class VoteThreshold final : public Mechanism {
 public:
  // Error: usage, when the scale is outside the exact sampler's range.
  [[nodiscard]] static Result<std::unique_ptr<VoteThreshold>> Create(const ThresholdSettings& settings,
                                                                     noise::NoiseKey key);
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Distinct rows of the answers that are not remembered yet.
  [[nodiscard]] std::int64_t DrawsFor(const Answers& answers) const override;
  // Released.values: i32 [rows, 1] on the CPU: 1 where the largest count and its noise, a whole number, reach the
  // threshold together, else 0. Refused, too, when the members voted in parts.
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

  // Adds what the transcript holds: inputs [rows, ...] as queried, values i32 [rows, 1].
  void Remember(const at::Tensor& inputs, const at::Tensor& values) { memory_.Remember(inputs, values); }

 private:
  VoteThreshold(const ThresholdSettings& settings, noise::LatticeGaussian lattice, noise::NoiseKey key);
  ThresholdSettings settings_;
  noise::LatticeGaussian lattice_;
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
  AnswerMemory memory_{1};
};

}  // namespace retort::worker::release
