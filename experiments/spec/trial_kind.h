// What a trial is made of, which decides the keys that apply to it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "experiments/spec/trial_spec.h"

namespace retort {

enum class TrialKind : std::uint8_t {
  plain_teacher,      // trained without noise
  ensemble_teacher,   // `members` networks on disjoint shards
  dpsgd_teacher,      // trained with DP-SGD
  gradient_student,   // dpdfd, reading printed, row-averaged or working: noisy output gradients
  distilled_student,  // dpdfd, reading sound, taught by a DP-SGD teacher: post-processing
  vote_student,       // dpdfd, reading sound, taught by noisy votes of an ensemble
  dpsgd_student,      // trained directly with DP-SGD
  sleeper,            // trains nothing: holds a device for a time
  loaded_teacher,     // trains nothing: weights or a TorchScript module from a file
};
inline constexpr std::array kTrialKinds = {TrialKind::plain_teacher,     TrialKind::ensemble_teacher,
                                           TrialKind::dpsgd_teacher,     TrialKind::gradient_student,
                                           TrialKind::distilled_student, TrialKind::vote_student,
                                           TrialKind::dpsgd_student,     TrialKind::sleeper,
                                           TrialKind::loaded_teacher};
[[nodiscard]] constexpr bool IsTeacher(TrialKind kind) {
  return kind <= TrialKind::dpsgd_teacher || kind == TrialKind::loaded_teacher;
}

// From role, method, reading and queries alone. Votes are the sound students that ask queries.
[[nodiscard]] TrialKind KindOf(const TrialSpec& spec);
// As documentation and messages say it: "dpdfd student of an ensemble", ...
[[nodiscard]] std::string_view KindName(TrialKind kind);

using KindMask = std::uint16_t;
[[nodiscard]] constexpr KindMask MaskOf(TrialKind kind) {
  return static_cast<KindMask>(1U << static_cast<unsigned>(kind));
}

}  // namespace retort
