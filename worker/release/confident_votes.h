// Confident-GNMax (Papernot et al. 2018, algorithm 1): a query is answered, by the first class of its noisy votes,
// where the members agree about it, and else by nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "worker/noise/lattice_samplers.h"
#include "worker/release/answer_memory.h"
#include "worker/release/mechanism.h"
#include "worker/release/noisy_votes.h"

namespace retort::worker::release {

// Whether an ensemble agrees about a query, with noise: the largest count of its votes against a threshold.

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

struct ConfidentSettings {
  VoteSettings votes;  // of the answers; first_class
  ThresholdSettings threshold;
  std::int64_t answers = 0;  // most queries that are answered
};

// The settings that the trial's keys ask for.
[[nodiscard]] ConfidentSettings MakeConfidentSettings(const TrialSpec& spec, std::int64_t classes);

// Every query pays for the threshold. What is charged for answers does not depend on how many there are: with every
// query one answer more, up to the most that are allowed, whether it was given or not (PROOFS.md). An object counts
// from nothing, so that an attempt that goes on is charged for as many answers again, as far as it has queries left.
class ConfidentVotes {
 public:
  // Error: usage, as of the two mechanisms.
  [[nodiscard]] static Result<std::unique_ptr<ConfidentVotes>> Create(const ConfidentSettings& settings,
                                                                      noise::NoiseKey threshold_key,
                                                                      noise::NoiseKey answer_key);

  // Charges the book, and releases. inputs [rows, ...], those of the query. Returns i32 [rows, classes] on the CPU: one
  // 1 in the row of a query that is answered, zeros in the others. Errors: of the book, and of both mechanisms.
  [[nodiscard]] Result<at::Tensor> Release(const at::Tensor& inputs, const Answers& answers, ChargeBook& book);

  // Adds what the transcript holds: inputs [rows, ...] as queried, values i32 [rows, classes] as Release returned them.
  void Remember(const at::Tensor& inputs, const at::Tensor& values);

  // Distinct queries that were answered.
  [[nodiscard]] std::int64_t answered() const { return answered_; }

 private:
  ConfidentVotes(const ConfidentSettings& settings, std::unique_ptr<VoteThreshold> threshold,
                 std::unique_ptr<NoisyVotes> votes);
  [[nodiscard]] Status Pay(std::int64_t fresh, ChargeBook& book);
  [[nodiscard]] at::Tensor ChooseRows(const at::Tensor& inputs, const at::Tensor& passed);

  ConfidentSettings settings_;
  std::unique_ptr<VoteThreshold> threshold_;
  std::unique_ptr<NoisyVotes> votes_;
  std::map<std::string, bool> decided_;  // by digest of the query: whether it is answered
  std::int64_t answered_ = 0, charged_ = 0;
  std::optional<Charge> credit_;  // charged, and not drawn yet
};

}  // namespace retort::worker::release
