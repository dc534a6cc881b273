// Confident-GNMax (Papernot et al. 2018, algorithm 1): a query is answered, by the first class of its noisy votes,
// where the members agree about it, and else by nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "worker/release/noisy_votes.h"
#include "worker/release/vote_threshold.h"

namespace retort::worker::release {

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
