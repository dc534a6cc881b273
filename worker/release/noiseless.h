// Raw answers. Sound only for a teacher whose own claim covers everything done with it (R1).
#pragma once

#include "worker/release/mechanism.h"

namespace retort::worker::release {

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
