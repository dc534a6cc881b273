// Randomised response over a set of candidates that was chosen without the teacher: one class leaves.
#pragma once

#include <memory>

#include "worker/noise/chacha_stream.h"
#include "worker/release/answer_memory.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

struct ResponseSettings {
  double epsilon0 = 1;  // of one answer; 1e-6 to 700
  std::int64_t classes = 10;
  std::int64_t batch = 256;  // B, the most rows of a release
};

// With r the teacher's first largest class, I the candidates of the row and k = |I| >= 2:
//   r in I: r with probability e^e0 / (e^e0 + k - 1), otherwise one of the others of I, all alike;
//   r outside I: one of I, all alike.
// The output law depends on the teacher by a factor of e^e0 at most, and its support (I) not at all. The
// probability of leaving r is rounded up to 2^-64, never down. Sets may depend on earlier releases, so the
// event speaks of two candidates, the worst case.
class RandomizedResponse final : public Mechanism {
 public:
  // Error: usage.
  [[nodiscard]] static Result<std::unique_ptr<RandomizedResponse>> Create(const ResponseSettings& settings,
                                                                          noise::NoiseKey key);
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Distinct rows of the answers that are not remembered yet.
  [[nodiscard]] std::int64_t DrawsFor(const Answers& answers) const override;
  // Released.values: one-hot i32 [rows, classes] on the CPU. A remembered row keeps its answer, also where
  // its candidates have changed. Refused, too: an ensemble, and a row with fewer than two candidates.
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

  // Adds what the transcript holds: inputs [rows, ...] as queried, values i32 [rows, classes].
  void Remember(const at::Tensor& inputs, const at::Tensor& values) { memory_.Remember(inputs, values); }

 private:
  RandomizedResponse(const ResponseSettings& settings, noise::NoiseKey key);
  ResponseSettings settings_;
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
  AnswerMemory memory_;
};

// The 64-bit number u below which a uniform word leaves the teacher's class: u / 2^64 is at least
// (k - 1) / (e^e0 + k - 1), and above it by less than 2^-40 of it or 2^-64. k = candidates >= 2.
[[nodiscard]] std::uint64_t LeaveThreshold(double epsilon0, std::int64_t candidates);

}  // namespace retort::worker::release
