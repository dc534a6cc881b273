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
  gradient_student,   // taught by noisy gradients at its outputs
  distilled_student,  // reading sound, taught by a DP-SGD teacher: post-processing
  vote_student,       // reading sound, or pate: taught by noisy votes of an ensemble
  dpsgd_student,      // trained directly with DP-SGD
  sleeper,            // trains nothing: holds a device for a time
  loaded_teacher,     // trains nothing: weights or a TorchScript module from a file
  response_student,   // taught by randomised responses
  query_student,      // rona: taught on public examples
  raw_student,        // dense: taught by raw answers of an ensemble
  merf_student,       // dp-merf: taught on images made from one noisy mean embedding
  label_student,      // lp-2st, alibi: trained on private images with released labels
  federated_student,  // fedavg: the mean of what clients trained
  labelled_student,   // reading sound: public pictures that a privately trained teacher labels
  spectral_student,   // dp-spectral: public pictures, labelled by noisy class sums in their spectral embedding
};
inline constexpr std::array kTrialKinds = {
    TrialKind::plain_teacher, TrialKind::ensemble_teacher,  TrialKind::dpsgd_teacher,    TrialKind::gradient_student,
    TrialKind::distilled_student, TrialKind::vote_student,  TrialKind::dpsgd_student,    TrialKind::sleeper,
    TrialKind::loaded_teacher,    TrialKind::response_student, TrialKind::query_student, TrialKind::raw_student,
    TrialKind::merf_student,      TrialKind::label_student, TrialKind::federated_student,
    TrialKind::labelled_student,  TrialKind::spectral_student};
[[nodiscard]] constexpr bool IsTeacher(TrialKind kind) {
  return kind <= TrialKind::dpsgd_teacher || kind == TrialKind::loaded_teacher;
}
// Students that a privately trained teacher answers without noise: they spend what it was given, and nothing else.
[[nodiscard]] constexpr bool IsPostProcessing(TrialKind kind) {
  return kind == TrialKind::distilled_student || kind == TrialKind::labelled_student;
}
// Students of one noisy sum a class, to which every private example adds what it is embedded as.
[[nodiscard]] constexpr bool ReleasesEmbedding(TrialKind kind) {
  return kind == TrialKind::merf_student || kind == TrialKind::spectral_student;
}

// From role, method, reading, branch, source and queries alone. Votes are the sound students that ask queries.
[[nodiscard]] TrialKind KindOf(const TrialSpec& spec);
// Whether an ensemble's noisy votes are what the student is taught by: vote students, and rona's where it asks
// an ensemble.
[[nodiscard]] bool AsksVotes(const TrialSpec& spec);
// Whether a student of rona learns from public examples alone: RONA's Base, which puts no question to a teacher.
[[nodiscard]] bool AsksNobody(const TrialSpec& spec);
// Whether what one private example is decides to which members of an ensemble others go: its label by a Dirichlet partition
// or sensitive classes, which move into the private split; whether it can be read where others then move up.
[[nodiscard]] bool ShardsFollowExamples(const TrialSpec& ensemble);
// Whether training images are other images than the examples' own.
[[nodiscard]] bool AugmentsImages(const TrialSpec& spec);
// Whether DP-SGD takes the gradients of private examples that are augmented.
[[nodiscard]] bool AugmentsPrivately(const TrialSpec& spec);
// As documentation and messages say it: "student by noisy gradients", ...
[[nodiscard]] std::string_view KindName(TrialKind kind);

using KindMask = std::uint32_t;
[[nodiscard]] constexpr KindMask MaskOf(TrialKind kind) {
  return static_cast<KindMask>(1U << static_cast<unsigned>(kind));
}

}  // namespace retort
