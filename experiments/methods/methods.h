// The kinds of trials and the methods: two tables of constants, and what follows from them. To add a method, add a row
// to kMethodTraits; to add a kind, append to TrialKind and add a row to kKindTraits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/trial_spec.h"

namespace retort {

// What a trial is made of, which decides the keys that apply to it. Append only: masks hold these numbers.
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

using KindMask = std::uint32_t;
[[nodiscard]] constexpr KindMask MakeMask(TrialKind kind) {
  return static_cast<KindMask>(1U << static_cast<unsigned>(kind));
}
using ReadingMask = std::uint8_t;
[[nodiscard]] constexpr ReadingMask MakeMask(Reading reading) {
  return static_cast<ReadingMask>(1U << static_cast<unsigned>(reading));
}
using SourceMask = std::uint8_t;
[[nodiscard]] constexpr SourceMask MakeMask(QuerySource source) {
  return static_cast<SourceMask>(1U << static_cast<unsigned>(source));
}

// What is released of the private examples. Planned events, claims and the solver of a budget follow from it.
enum class ReleaseKind : std::uint8_t {
  none,         // nothing that is accounted: training without noise, a loaded file, a sleeping trial
  gradients,    // noisy gradients at the student's outputs
  responses,    // randomised responses
  losses,       // rona: noisy losses of its queries; votes where it asks an ensemble
  raw_answers,  // a teacher's answers as they are
  votes,        // noisy votes of an ensemble
  steps,        // noisy sums of examples' gradients: DP-SGD
  embedding,    // one noisy sum a class
  labels,       // each private label once
};

// One row a kind.
struct KindTraits {
  TrialKind kind;
  std::string_view name;  // as documentation and messages say it
  ReleaseKind release = ReleaseKind::none;
  int revision = 1;  // raised when results change for an unchanged spec; part of a trial's identity
  bool teacher = false;
  bool every_reading = false;        // of a student: the reading does not change its kind
  bool members = false;              // several hold shards of the examples: claims are about a member, too
  std::string_view unsolvable = {};  // why no noise can be solved for; empty: it can
};

inline constexpr std::string_view kTrainedWithoutNoise =
    "this teacher is trained without noise; train it with DP-SGD, or let an ensemble vote.";
inline constexpr std::string_view kAddsNoNoise = "this method adds no noise: no claim of it is finite.";
inline constexpr std::string_view kPostProcesses =
    "this student adds no noise of its own; its claim is its teacher's, so put epsilon in the teacher's private = "
    "{...}, "
    "or set queries for the votes of an ensemble.";

// In the order of the enumeration.
inline constexpr std::array kKindTraits = {
    KindTraits{.kind = TrialKind::plain_teacher,
               .name = "plain teacher",
               .release = ReleaseKind::none,
               .teacher = true,
               .unsolvable = kTrainedWithoutNoise},
    KindTraits{.kind = TrialKind::ensemble_teacher,
               .name = "ensemble teacher",
               .release = ReleaseKind::none,
               .teacher = true,
               .members = true,
               .unsolvable = kTrainedWithoutNoise},
    KindTraits{.kind = TrialKind::dpsgd_teacher,
               .name = "DP-SGD teacher",
               .release = ReleaseKind::steps,
               .revision = 2,
               .teacher = true},
    KindTraits{.kind = TrialKind::gradient_student,
               .name = "student by noisy gradients",
               .release = ReleaseKind::gradients,
               .revision = 3},
    KindTraits{.kind = TrialKind::distilled_student,
               .name = "sound student of a DP-SGD teacher",
               .release = ReleaseKind::raw_answers,
               .unsolvable = kPostProcesses},
    KindTraits{.kind = TrialKind::vote_student,
               .name = "student by noisy votes",
               .release = ReleaseKind::votes,
               .every_reading = true},
    KindTraits{.kind = TrialKind::dpsgd_student,
               .name = "dpsgd student",
               .release = ReleaseKind::steps,
               .revision = 2,
               .every_reading = true},
    KindTraits{.kind = TrialKind::sleeper,
               .name = "sleeping trial",
               .release = ReleaseKind::none,
               .every_reading = true,
               .unsolvable = "a sleeping trial releases nothing."},
    KindTraits{.kind = TrialKind::loaded_teacher,
               .name = "loaded teacher",
               .release = ReleaseKind::none,
               .teacher = true,
               .unsolvable = "a loaded teacher is not trained here."},
    KindTraits{.kind = TrialKind::response_student,
               .name = "student by randomised response",
               .release = ReleaseKind::responses},
    KindTraits{.kind = TrialKind::query_student,
               .name = "rona student",
               .release = ReleaseKind::losses,
               .revision = 2,
               .every_reading = true},
    KindTraits{.kind = TrialKind::raw_student,
               .name = "dense student",
               .release = ReleaseKind::raw_answers,
               .every_reading = true,
               .unsolvable = kAddsNoNoise},
    KindTraits{.kind = TrialKind::merf_student,
               .name = "dp-merf student",
               .release = ReleaseKind::embedding,
               .revision = 2,
               .every_reading = true},
    KindTraits{.kind = TrialKind::label_student,
               .name = "label-private student",
               .release = ReleaseKind::labels,
               .every_reading = true},
    KindTraits{.kind = TrialKind::federated_student,
               .name = "fedavg student",
               .release = ReleaseKind::none,
               .every_reading = true,
               .members = true,
               .unsolvable = kAddsNoNoise},
    KindTraits{.kind = TrialKind::labelled_student,
               .name = "sound student on public pictures of a DP-SGD teacher",
               .release = ReleaseKind::raw_answers,
               .unsolvable = kPostProcesses},
    KindTraits{.kind = TrialKind::spectral_student,
               .name = "dp-spectral student",
               .release = ReleaseKind::embedding,
               .revision = 2,
               .every_reading = true},
};
[[nodiscard]] constexpr const KindTraits& FindTraits(TrialKind kind) {
  return kKindTraits[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr bool KindTraitsAreInOrder() {
  for (std::size_t i = 0; i < kKindTraits.size(); ++i)
    if (static_cast<std::size_t>(kKindTraits[i].kind) != i) return false;
  return true;
}
static_assert(KindTraitsAreInOrder());

inline constexpr auto kTrialKinds = [] {
  std::array<TrialKind, kKindTraits.size()> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kKindTraits[i].kind;
  return kinds;
}();
// As documentation and messages say it: "student by noisy gradients", ...
[[nodiscard]] constexpr std::string_view KindName(TrialKind kind) { return FindTraits(kind).name; }
[[nodiscard]] constexpr ReleaseKind FindReleaseKind(TrialKind kind) { return FindTraits(kind).release; }
[[nodiscard]] constexpr bool IsTeacher(TrialKind kind) { return FindTraits(kind).teacher; }
// Students that a privately trained teacher answers without noise: they spend what it was given, and nothing else.
[[nodiscard]] constexpr bool IsPostProcessing(TrialKind kind) {
  return FindReleaseKind(kind) == ReleaseKind::raw_answers && !FindTraits(kind).every_reading;
}
// Students of one noisy sum a class, to which every private example adds what it is embedded as.
[[nodiscard]] constexpr bool ReleasesEmbedding(TrialKind kind) {
  return FindReleaseKind(kind) == ReleaseKind::embedding;
}
[[nodiscard]] constexpr bool TrainsByDpSgd(TrialKind kind) { return FindReleaseKind(kind) == ReleaseKind::steps; }

// Masks that the tables of methods, keys and presets are written with.
namespace kinds {
inline constexpr KindMask kPlain = MakeMask(TrialKind::plain_teacher);
inline constexpr KindMask kEnsemble = MakeMask(TrialKind::ensemble_teacher);
inline constexpr KindMask kDpsgdTeacher = MakeMask(TrialKind::dpsgd_teacher);
inline constexpr KindMask kDpsgdStudent = MakeMask(TrialKind::dpsgd_student);
inline constexpr KindMask kDpsgd = kDpsgdTeacher | kDpsgdStudent;
inline constexpr KindMask kLoaded = MakeMask(TrialKind::loaded_teacher);
inline constexpr KindMask kSingle = kPlain | kDpsgdTeacher | kLoaded;  // teachers of one network
inline constexpr KindMask kGradient = MakeMask(TrialKind::gradient_student);
inline constexpr KindMask kDistilled = MakeMask(TrialKind::distilled_student);
inline constexpr KindMask kLabelled = MakeMask(TrialKind::labelled_student);
inline constexpr KindMask kVotes = MakeMask(TrialKind::vote_student);
inline constexpr KindMask kResponse = MakeMask(TrialKind::response_student);
inline constexpr KindMask kQuery = MakeMask(TrialKind::query_student);
inline constexpr KindMask kRaw = MakeMask(TrialKind::raw_student);
inline constexpr KindMask kMerf = MakeMask(TrialKind::merf_student);
inline constexpr KindMask kLabel = MakeMask(TrialKind::label_student);
inline constexpr KindMask kFederated = MakeMask(TrialKind::federated_student);
inline constexpr KindMask kSpectral = MakeMask(TrialKind::spectral_student);
inline constexpr KindMask kSleep = MakeMask(TrialKind::sleeper);
}  // namespace kinds

namespace readings {
inline constexpr ReadingMask kWorking = MakeMask(Reading::working), kPrinted = MakeMask(Reading::printed),
                             kRowAveraged = MakeMask(Reading::row_averaged), kSound = MakeMask(Reading::sound),
                             kStated = MakeMask(Reading::stated);
inline constexpr ReadingMask kEvery = kWorking | kPrinted | kRowAveraged | kSound | kStated,
                             kWithoutRows = kEvery & ~kRowAveraged, kWithoutSound = kEvery & ~kSound;
}  // namespace readings

// How a reading draws the noise on what a batch releases. Planned events, the mechanisms and the audits follow from it.
enum class NoiseForm : std::uint8_t {
  none,               // the reading draws none
  shared,             // once, on what the rows of a batch sum to
  by_row,             // once a row
  by_row_over_batch,  // once a row, of a batch-th of the deviation
};
[[nodiscard]] constexpr NoiseForm FindNoiseForm(Reading reading) {
  switch (reading) {
    case Reading::printed:
      return NoiseForm::shared;
    case Reading::row_averaged:
      return NoiseForm::by_row;
    case Reading::working:
    case Reading::stated:
      return NoiseForm::by_row_over_batch;
    case Reading::sound:
      break;
  }
  return NoiseForm::none;
}

namespace sources {
inline constexpr SourceMask kGenerated = MakeMask(QuerySource::generator),
                            kPublic = MakeMask(QuerySource::public_split),
                            kPrivate = MakeMask(QuerySource::private_split),
                            kMade = kGenerated | MakeMask(QuerySource::procedural);
}  // namespace sources

// One row a method of a student.
struct MethodTraits {
  std::string_view name;
  TrialKind kind = TrialKind::gradient_student;  // in the readings other than sound
  ReadingMask readings = 0;                      // 0: the method has none, and the key reading no place
  KindMask teachers = 0;                         // that it asks in the readings other than sound; 0: none
  SourceMask sources = 0;                        // of its inputs, the same; the first is the default
  QuerySource source = QuerySource::generator;   // where the file says nothing
  int revision = 0;                              // 0: that of its kind
};

// In the order of the choices of `method`. What a method is made of beside its row: its kind and its preset
// (presets.cc).
inline constexpr std::array kMethodTraits = {
    MethodTraits{"dpdfd", TrialKind::gradient_student, readings::kEvery, kinds::kSingle, sources::kMade,
                 QuerySource::generator},
    MethodTraits{"dpdfd-ensemble", TrialKind::gradient_student, readings::kWithoutRows, kinds::kEnsemble,
                 sources::kMade, QuerySource::generator},
    MethodTraits{"dpdfd-direct", TrialKind::gradient_student, readings::kWithoutSound, kinds::kSingle,
                 sources::kPrivate, QuerySource::private_split},
    MethodTraits{"dp-dfd", TrialKind::response_student, readings::kWithoutRows, kinds::kSingle, sources::kMade,
                 QuerySource::generator},
    MethodTraits{"dpsd-data", TrialKind::gradient_student, readings::kEvery, kinds::kSingle, sources::kMade,
                 QuerySource::generator},
    MethodTraits{"dpsd-label", TrialKind::response_student, readings::kWithoutRows, kinds::kSingle, sources::kMade,
                 QuerySource::generator},
    MethodTraits{"dpsd-t", TrialKind::gradient_student, readings::kWithoutSound, kinds::kSingle, sources::kGenerated,
                 QuerySource::generator},
    MethodTraits{"dpsd-kd", TrialKind::gradient_student, readings::kEvery, kinds::kSingle, sources::kMade,
                 QuerySource::generator},
    MethodTraits{"feddpsd", TrialKind::gradient_student, readings::kWithoutRows, kinds::kEnsemble, sources::kMade,
                 QuerySource::generator},
    MethodTraits{"rona", TrialKind::query_student, readings::kWithoutRows, kinds::kSingle, sources::kPublic,
                 QuerySource::public_split},
    MethodTraits{"dpsgd", TrialKind::dpsgd_student, 0, 0, sources::kPrivate, QuerySource::private_split},
    MethodTraits{"dp-gd", TrialKind::dpsgd_student, 0, 0, sources::kPrivate, QuerySource::private_split},
    MethodTraits{"dp-merf", TrialKind::merf_student, 0, 0, sources::kPrivate, QuerySource::private_split},
    MethodTraits{"dp-spectral", TrialKind::spectral_student, 0, 0, sources::kPublic, QuerySource::public_split},
    MethodTraits{"pate", TrialKind::vote_student, 0, kinds::kEnsemble, sources::kPublic, QuerySource::public_split},
    MethodTraits{"lp-2st", TrialKind::label_student, 0, 0, sources::kPrivate, QuerySource::private_split},
    MethodTraits{"alibi", TrialKind::label_student, 0, 0, sources::kPrivate, QuerySource::private_split, 2},
    MethodTraits{"fedavg", TrialKind::federated_student, 0, 0, sources::kPrivate, QuerySource::private_split},
    MethodTraits{"dense", TrialKind::raw_student, 0, kinds::kEnsemble | kinds::kSingle, sources::kGenerated,
                 QuerySource::generator, 2},
    MethodTraits{"sleep", TrialKind::sleeper, 0, 0, sources::kGenerated, QuerySource::generator},
};
[[nodiscard]] constexpr std::span<const MethodTraits> Methods() { return kMethodTraits; }
// Null when there is none of that name.
[[nodiscard]] const MethodTraits* FindMethod(std::string_view name);
// Whether a method stands in a list of names with spaces between.
[[nodiscard]] bool NamesMethod(std::string_view names, std::string_view method);
// Names of the readings that it has, in the order of the enumeration.
[[nodiscard]] std::vector<std::string> ListReadings(const MethodTraits& method);

// From role, method, reading, branch, source and queries alone. Votes are the sound students that ask queries.
[[nodiscard]] TrialKind FindKind(const TrialSpec& spec);
// Raised when results of the method change for an unchanged spec; part of identity.
[[nodiscard]] int MethodRevision(const TrialSpec& spec);
// Whether an ensemble's noisy votes are what the student is taught by: vote students, and rona's where it asks
// an ensemble.
[[nodiscard]] bool IsTaughtByVotes(const TrialSpec& spec);
// Whether a student of rona learns from public examples alone: RONA's Base, which puts no question to a teacher.
[[nodiscard]] bool AsksNoTeacher(const TrialSpec& spec);
// Whether a student of rona goes by Algorithm 1 of the paper in place of its authors' code: each round learns by itself
// first, and there is no warm start.
[[nodiscard]] bool FollowsAlgorithm(const TrialSpec& spec);
// Whether one private example decides to which members of an ensemble others go: by its label, with a Dirichlet
// partition or sensitive classes, which move into the private split; or by whether it can be read, where others then
// move up.
[[nodiscard]] bool ShardsDependOnExamples(const TrialSpec& ensemble);
// Whether the student learns the private images' own labels, and no teacher is asked.
[[nodiscard]] bool TakesOwnLabels(const TrialSpec& spec);
// The optimiser steps of dense: in each round one pass over the pool, to which the round has added a batch.
[[nodiscard]] double CountPoolSteps(const TrialSpec& spec);
inline constexpr double kMaxPoolSteps = 1e15;
// Whether training images are other images than the examples' own.
[[nodiscard]] bool AugmentsImages(const TrialSpec& spec);
// Whether DP-SGD takes the gradients of private examples that are augmented.
[[nodiscard]] bool AugmentsPrivately(const TrialSpec& spec);

// vote_noise times grain: the range of the exact sampler.
inline constexpr double kMinVoteNoise = 0.015625;
inline constexpr double kMaxVoteNoise = 1048576;

}  // namespace retort
