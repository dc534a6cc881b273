// Randomised response over a set of candidates that was chosen without the teacher: one class is released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/noise/noise_key.h"
#include "worker/release/answer_memory.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release {

// What is answered where the teacher's class is a candidate.
enum class ResponseForm : std::uint8_t {
  one_hot,      // one candidate, by the law below: DPSD Algorithm 2; DP-DFD with a class in place of its soft answer
  soft,         // DP-DFD Algorithm 1 as printed: the teacher's probabilities in place of its class
  every_class,  // DPSD equation 5 as printed: any class, by the law below with all classes as candidates
};

struct ResponseSettings {
  double epsilon0 = 1;  // of one answer; 1e-6 to 700
  std::int64_t classes = 10;
  std::int64_t batch = 256;  // B, the most rows of a release
  ResponseForm form = ResponseForm::one_hot;
  std::int64_t candidates = 0;  // that every row has; 0 = they vary
  std::int64_t members = 1;     // more than one: each answers every row by itself
  // The generator that made the queries was trained with the raw teacher: kVoidGeneratorTouchedTeacher.
  bool generator_touched_teacher = false;
};

// What the trial asks for, of a teacher with so many members. The printed reading is the soft form in DP-DFD;
// `response_over` says whether it is every class in the others.
[[nodiscard]] ResponseSettings MakeResponseSettings(const TrialSpec& spec, std::int64_t classes, std::int64_t members);

// With r the teacher's first largest class, I the candidates of the row and k = |I| >= 2:
//   r in I: r with probability e^e0 / (e^e0 + k - 1), otherwise one of the others of I, all alike;
//   r outside I: one of I, all alike.
// The output law depends on the teacher by a factor of e^e0 at most, and its support (I) not at all. The
// probability of leaving r is rounded up to 2^-64, never down. Sets may depend on earlier releases, so the
// event assumes two candidates, the worst case. An ensemble's members answer separately; its event is
// member_response and counts the answers of one of them.
// The printed forms void their events: soft by kVoidSoftOutput, every_class by kVoidSupportLeak unless every row's
// candidates are all classes.
class RandomizedResponse final : public Mechanism {
 public:
  // Error: usage.
  [[nodiscard]] static Result<std::unique_ptr<RandomizedResponse>> Create(const ResponseSettings& settings,
                                                                          noise::NoiseKey key);
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Distinct rows of the answers that are not remembered yet.
  [[nodiscard]] std::int64_t DrawsFor(const Answers& answers) const override;
  // Released.values on the CPU: one-hot i32 [rows, classes]; of an ensemble how many members answered each class; of
  // form soft f32, one-hot or the teacher's probabilities. A remembered row keeps its answer, also where its
  // candidates have changed. Refused, too: as many members as the settings do not say, and a row with fewer than two
  // candidates, or with another number than the settings say.
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

  // Adds what the transcript holds: inputs [rows, ...] as queried, values as they were released.
  void Remember(const at::Tensor& inputs, const at::Tensor& values);
  // The same by QueryDigests(inputs).
  void RememberDigests(const at::Tensor& digests, const at::Tensor& values);

 private:
  RandomizedResponse(const ResponseSettings& settings, noise::NoiseKey key);
  [[nodiscard]] Status CheckCandidates(const at::Tensor& candidates, const Answers& answers) const;
  // Adds one answer to `out`. probabilities: of the teacher, form soft alone.
  void Respond(std::size_t truth, const std::vector<std::size_t>& candidates, const float* probabilities,
               noise::ChaChaStream& bits, std::span<std::int32_t> out) const;
  ResponseSettings settings_;
  noise::NoiseKey key_;
  std::int64_t last_step_ = -1;
  AnswerMemory memory_;  // of form soft: the bits of the floats
};

// The 64-bit number u below which a uniform word leaves the teacher's class: u / 2^64 is at least
// (k - 1) / (e^e0 + k - 1), and above it by less than 2^-40 of it or 2^-64. k = candidates >= 2.
[[nodiscard]] std::uint64_t LeaveThreshold(double epsilon0, std::int64_t candidates);

// One answer about the class `truth` from `candidates`, at least one, ascending: with one candidate that one, whatever
// the truth; with k, the truth with probability e^e0 / (e^e0 + k - 1) and each other with 1 / (e^e0 + k - 1); any of
// them alike where the truth is not among them.
[[nodiscard]] std::size_t AnswerAmong(std::size_t truth, const std::vector<std::size_t>& candidates, double epsilon0,
                                      noise::ChaChaStream& bits);

}  // namespace retort::worker::release
