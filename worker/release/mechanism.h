// Mechanisms: the randomised rules by which information about a teacher is released.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/privacy_event.h"
#include "worker/noise/noise_kernels.h"
#include "worker/release/answers.h"
#include "worker/release/charge.h"

namespace retort::worker::release {

// What a mechanism released. gaussian-gradient: g~ f32 [rows, classes], as drawn, before any projection.
// noisy-votes, noisy-probabilities: H i32 [rows, classes]. randomised response: one-hot i32 [rows, classes].
// loss-noise: the gradient f32 [rows, classes], and the noised loss f32 []. none: the teacher's logits f32
// [rows, classes], or votes i32.
struct Released {
  at::Tensor values;
  at::Tensor loss = {};
};

class Mechanism {
 public:
  virtual ~Mechanism() = default;
  // Pure. The event of releasing `rows` rows at once: planning, calibration, the ledger.
  [[nodiscard]] virtual privacy::PrivacyEvent Describe(std::int64_t rows) const = 0;
  // Draws a release of these answers demands: Describe(rows).count, less what is remembered.
  [[nodiscard]] virtual std::int64_t DrawsFor(const Answers& answers) const { return Describe(answers.rows()).count; }
  // The charge must cover DrawsFor(answers) draws of Describe's event; what it covers is spent even
  // when the release fails. Error: refused, when the charge does not fit or the step does not grow
  // (a noise stream is never drawn twice).
  [[nodiscard]] virtual Result<Released> Release(const Answers& answers, Charge&& charge) = 0;
  // Zeros that have the graph to the inputs which the release of these undetached answers had: a transcript
  // gives a release back without it. Error: refused, when releases of this mechanism are detached.
  [[nodiscard]] virtual Result<at::Tensor> MakeGraph(const Answers& answers) const;
};

// The mechanism that `spec` (a student's) names by method, reading, teacher and source.
// `classes` of the data; `key` from FromOperatingSystem or, for noise = "seeded", FromSeed.
// `members` of the teacher: more than one selects noisy votes. `kernels`: those of the device that the
// answers lie on; null: the CPU's. Error: usage.
[[nodiscard]] Result<std::unique_ptr<Mechanism>> MakeMechanism(const TrialSpec& spec, std::int64_t classes,
                                                               std::int64_t members, noise::NoiseKey key,
                                                               noise::NoiseKernels* kernels = nullptr);

// Key for a trial's noise as its spec asks.
[[nodiscard]] noise::NoiseKey MakeNoiseKey(const TrialSpec& spec);

// Releases raw answers. Sound only for a teacher whose own claim covers everything done with it.
class Noiseless final : public Mechanism {
 public:
  Noiseless(std::int64_t classes, std::int64_t batch) : classes_(classes), batch_(batch) {}
  [[nodiscard]] privacy::PrivacyEvent Describe(std::int64_t rows) const override;
  // Released.values: the teacher's logits f32 [rows, classes], or an ensemble's votes i32, detached.
  [[nodiscard]] Result<Released> Release(const Answers& answers, Charge&& charge) override;

 private:
  std::int64_t classes_, batch_;
};

}  // namespace retort::worker::release
