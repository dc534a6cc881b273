// The kinds of trials and the methods: tables of constants, and what follows from them. To add a method, add a row to
// kMethodTraits; to add a kind, append to TrialKind and add a row to kKindTraits. Other code asks for traits and never
// compares kinds or names of methods.
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
  labelled_student,   // reading sound: public images that a privately trained teacher labels
  spectral_student,   // dp-spectral: public images, labelled by noisy class sums in their spectral embedding
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

// What the cost of a trial is measured in, and what decides it beside network and data
// (orchestrator/core/cost_model.h).
enum class CostShape : std::uint8_t {
  steps,       // steps, all alike
  epochs,      // optimiser steps of its epochs, or the examples that are fitted at once
  pool,        // optimiser steps over a pool that grows (CountPoolSteps)
  evaluation,  // examples of the test split: nothing is trained
  phases,      // the whole trial, of phases that differ
  fit,         // the whole trial, which is fitted to labels of the public split
  votes,       // the whole trial, of queries and what is fitted to them
};

// One row a kind.
struct KindTraits {
  TrialKind kind;
  std::string_view name;  // as documentation and messages say it
  ReleaseKind release = ReleaseKind::none;
  CostShape cost = CostShape::steps;
  int revision = 1;  // raised when results change for an unchanged spec; part of a trial's identity
  bool teacher = false;
  bool loaded = false;         // of a teacher: from a file, and nothing is trained
  bool sleeps = false;         // reads no data and trains nothing: holds a device for a time
  bool every_reading = false;  // of a student: the reading does not change its kind
  bool members = false;        // several hold shards of the examples: claims are about a member, too
  bool asks_once = false;      // of a student: its teacher answers once about every public image
  bool one_device = false;     // it runs in no gang
  std::int64_t (*features)(const TrialSpec&) = nullptr;  // of an embedding: the numbers that it releases for a class
  std::string_view unsolvable = {};                      // why no noise can be solved for; empty: it can
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
               .cost = CostShape::epochs,
               .teacher = true,
               .unsolvable = kTrainedWithoutNoise},
    KindTraits{.kind = TrialKind::ensemble_teacher,
               .name = "ensemble teacher",
               .cost = CostShape::epochs,
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
               .cost = CostShape::votes,
               .every_reading = true},
    KindTraits{.kind = TrialKind::dpsgd_student,
               .name = "dpsgd student",
               .release = ReleaseKind::steps,
               .revision = 2,
               .every_reading = true},
    KindTraits{.kind = TrialKind::sleeper,
               .name = "sleeping trial",
               .sleeps = true,
               .every_reading = true,
               .unsolvable = "a sleeping trial releases nothing."},
    KindTraits{.kind = TrialKind::loaded_teacher,
               .name = "loaded teacher",
               .cost = CostShape::evaluation,
               .teacher = true,
               .loaded = true,
               .unsolvable = "a loaded teacher is not trained here."},
    KindTraits{.kind = TrialKind::response_student,
               .name = "student by randomised response",
               .release = ReleaseKind::responses},
    KindTraits{.kind = TrialKind::query_student,
               .name = "rona student",
               .release = ReleaseKind::losses,
               .cost = CostShape::phases,
               .revision = 3,
               .every_reading = true,
               .one_device = true},
    KindTraits{.kind = TrialKind::raw_student,
               .name = "dense student",
               .release = ReleaseKind::raw_answers,
               .cost = CostShape::pool,
               .every_reading = true,
               .one_device = true,
               .unsolvable = kAddsNoNoise},
    KindTraits{.kind = TrialKind::merf_student,
               .name = "dp-merf student",
               .release = ReleaseKind::embedding,
               .cost = CostShape::phases,
               .revision = 2,
               .every_reading = true,
               .features = [](const TrialSpec& spec) { return spec.merf.random_features; }},
    KindTraits{.kind = TrialKind::label_student,
               .name = "label-private student",
               .release = ReleaseKind::labels,
               .cost = CostShape::phases,
               .every_reading = true},
    KindTraits{.kind = TrialKind::federated_student,
               .name = "fedavg student",
               .cost = CostShape::phases,
               .every_reading = true,
               .members = true,
               .unsolvable = kAddsNoNoise},
    KindTraits{.kind = TrialKind::labelled_student,
               .name = "sound student on public pictures of a DP-SGD teacher",
               .release = ReleaseKind::raw_answers,
               .asks_once = true,
               .unsolvable = kPostProcesses},
    KindTraits{.kind = TrialKind::spectral_student,
               .name = "dp-spectral student",
               .release = ReleaseKind::embedding,
               .cost = CostShape::fit,
               .revision = 2,
               .every_reading = true,
               .features = [](const TrialSpec& spec) { return spec.labels.eigenvectors; }},
};
[[nodiscard]] constexpr const KindTraits& FindTraits(TrialKind kind) {
  return kKindTraits[static_cast<std::size_t>(kind)];
}
[[nodiscard]] constexpr bool AreKindTraitsInOrder() {
  for (std::size_t i = 0; i < kKindTraits.size(); ++i)
    if (static_cast<std::size_t>(kKindTraits[i].kind) != i) return false;
  return true;
}
static_assert(AreKindTraitsInOrder());

inline constexpr auto kTrialKinds = [] {
  std::array<TrialKind, kKindTraits.size()> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kKindTraits[i].kind;
  return kinds;
}();
// As documentation and messages say it: "student by noisy gradients", ...
[[nodiscard]] constexpr std::string_view GetKindName(TrialKind kind) { return FindTraits(kind).name; }
[[nodiscard]] constexpr ReleaseKind FindReleaseKind(TrialKind kind) { return FindTraits(kind).release; }
[[nodiscard]] constexpr bool Releases(TrialKind kind, ReleaseKind release) { return FindReleaseKind(kind) == release; }
[[nodiscard]] constexpr bool IsTeacher(TrialKind kind) { return FindTraits(kind).teacher; }
[[nodiscard]] constexpr bool IsEnsemble(TrialKind kind) { return IsTeacher(kind) && FindTraits(kind).members; }
[[nodiscard]] constexpr bool IsLoaded(TrialKind kind) { return FindTraits(kind).loaded; }
[[nodiscard]] constexpr bool IsSleeper(TrialKind kind) { return FindTraits(kind).sleeps; }
[[nodiscard]] constexpr bool TrainsByDpSgd(TrialKind kind) { return Releases(kind, ReleaseKind::steps); }
[[nodiscard]] constexpr bool IsPrivateTeacher(TrialKind kind) { return IsTeacher(kind) && TrainsByDpSgd(kind); }
// Students whose teacher's answers leave without noise, however it was trained.
[[nodiscard]] constexpr bool TakesRawAnswers(TrialKind kind) {
  return Releases(kind, ReleaseKind::raw_answers) && FindTraits(kind).every_reading;
}
// Students that a privately trained teacher answers without noise: they spend what it was given, and nothing else.
[[nodiscard]] constexpr bool IsPostProcessing(TrialKind kind) {
  return Releases(kind, ReleaseKind::raw_answers) && !FindTraits(kind).every_reading;
}
// Students of one noisy sum a class, to which every private example adds what it is embedded as.
[[nodiscard]] constexpr bool ReleasesEmbedding(TrialKind kind) { return Releases(kind, ReleaseKind::embedding); }
// Students that put questions to a teacher.
[[nodiscard]] constexpr bool AsksTeacher(TrialKind kind) {
  switch (FindReleaseKind(kind)) {
    case ReleaseKind::gradients:
    case ReleaseKind::responses:
    case ReleaseKind::losses:
    case ReleaseKind::raw_answers:
    case ReleaseKind::votes:
      return true;
    case ReleaseKind::none:
    case ReleaseKind::steps:
    case ReleaseKind::embedding:
    case ReleaseKind::labels:
      break;
  }
  return false;
}
// The kinds of which that holds.
[[nodiscard]] constexpr KindMask SelectKinds(bool (*holds)(TrialKind)) {
  KindMask mask = 0;
  for (const TrialKind kind : kTrialKinds)
    if (holds(kind)) mask |= MakeMask(kind);
  return mask;
}

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

// What the teachers of a sweep are called, one row a name; the first of a kind is its usual one.
struct TeacherMethod {
  std::string_view name;
  TrialKind kind;
  bool full_batch = false;  // every step takes all private examples
};
inline constexpr std::array kTeacherMethods = {
    TeacherMethod{"plain", TrialKind::plain_teacher},   TeacherMethod{"ensemble", TrialKind::ensemble_teacher},
    TeacherMethod{"dpsgd", TrialKind::dpsgd_teacher},   TeacherMethod{"dp-gd", TrialKind::dpsgd_teacher, true},
    TeacherMethod{"loaded", TrialKind::loaded_teacher},
};
// Null when there is none of that name.
[[nodiscard]] const TeacherMethod* FindTeacherMethod(std::string_view name);
// REQUIRES: a kind of teachers; `full_batch` for those that DP-SGD trains alone.
[[nodiscard]] const TeacherMethod& ChooseTeacherMethod(TrialKind kind, bool full_batch);

// Whose formula a method's printed epsilon is.
enum class Paper : std::uint8_t { none, dpdfd, dp_dfd, dpsd, rona };

// One row a method of a student.
struct MethodTraits {
  std::string_view name;
  TrialKind kind = TrialKind::gradient_student;  // in the readings other than sound
  ReadingMask readings = 0;                      // 0: the method has none, and the key reading no place
  KindMask teachers = 0;                         // that it asks in the readings other than sound; 0: none
  SourceMask sources = 0;                        // of its inputs, the same; the first is the default
  QuerySource source = QuerySource::generator;   // where the file says nothing
  Paper paper = Paper::none;
  int revision = 0;           // 0: that of its kind
  bool branches = false;      // it has the keys branch and trust; in the branch "label" it takes responses
  bool full_batch = false;    // every step takes all private examples
  bool stages = false;        // labels are released in label_stages parts
  bool row_noise = false;     // printed: noise that a batch shares is drawn for every row of it, and added up
  bool soft_answers = false;  // printed: a response is a vector of probabilities
};

// In the order of the choices of `method`. What a method is made of beside its row: its kind and its preset
// (presets.cc).
inline constexpr std::array kMethodTraits = {
    MethodTraits{.name = "dpdfd",
                 .kind = TrialKind::gradient_student,
                 .readings = readings::kEvery,
                 .teachers = kinds::kSingle,
                 .sources = sources::kMade,
                 .paper = Paper::dpdfd},
    MethodTraits{.name = "dpdfd-ensemble",
                 .kind = TrialKind::gradient_student,
                 .readings = readings::kWithoutRows,
                 .teachers = kinds::kEnsemble,
                 .sources = sources::kMade,
                 .paper = Paper::dpdfd},
    MethodTraits{.name = "dpdfd-direct",
                 .kind = TrialKind::gradient_student,
                 .readings = readings::kWithoutSound,
                 .teachers = kinds::kSingle,
                 .sources = sources::kPrivate,
                 .source = QuerySource::private_split,
                 .paper = Paper::dpdfd},
    MethodTraits{.name = "dp-dfd",
                 .kind = TrialKind::response_student,
                 .readings = readings::kWithoutRows,
                 .teachers = kinds::kSingle,
                 .sources = sources::kMade,
                 .paper = Paper::dp_dfd,
                 .soft_answers = true},
    MethodTraits{.name = "dpsd-data",
                 .kind = TrialKind::gradient_student,
                 .readings = readings::kEvery,
                 .teachers = kinds::kSingle,
                 .sources = sources::kMade,
                 .paper = Paper::dpsd,
                 .row_noise = true},
    MethodTraits{.name = "dpsd-label",
                 .kind = TrialKind::response_student,
                 .readings = readings::kWithoutRows,
                 .teachers = kinds::kSingle,
                 .sources = sources::kMade,
                 .paper = Paper::dpsd},
    MethodTraits{.name = "dpsd-t",
                 .kind = TrialKind::gradient_student,
                 .readings = readings::kWithoutSound,
                 .teachers = kinds::kSingle,
                 .sources = sources::kGenerated,
                 .paper = Paper::dpsd,
                 .row_noise = true},
    MethodTraits{.name = "dpsd-kd",
                 .kind = TrialKind::gradient_student,
                 .readings = readings::kEvery,
                 .teachers = kinds::kSingle,
                 .sources = sources::kMade,
                 .paper = Paper::dpsd,
                 .row_noise = true},
    MethodTraits{.name = "feddpsd",
                 .kind = TrialKind::gradient_student,
                 .readings = readings::kWithoutRows,
                 .teachers = kinds::kEnsemble,
                 .sources = sources::kMade,
                 .paper = Paper::dpsd,
                 .branches = true},
    MethodTraits{.name = "rona",
                 .kind = TrialKind::query_student,
                 .readings = readings::kWithoutRows,
                 .teachers = kinds::kSingle,
                 .sources = sources::kPublic,
                 .source = QuerySource::public_split,
                 .paper = Paper::rona},
    MethodTraits{.name = "dpsgd",
                 .kind = TrialKind::dpsgd_student,
                 .sources = sources::kPrivate,
                 .source = QuerySource::private_split},
    MethodTraits{.name = "dp-gd",
                 .kind = TrialKind::dpsgd_student,
                 .sources = sources::kPrivate,
                 .source = QuerySource::private_split,
                 .full_batch = true},
    MethodTraits{.name = "dp-merf",
                 .kind = TrialKind::merf_student,
                 .sources = sources::kPrivate,
                 .source = QuerySource::private_split},
    MethodTraits{.name = "dp-spectral",
                 .kind = TrialKind::spectral_student,
                 .sources = sources::kPublic,
                 .source = QuerySource::public_split},
    MethodTraits{.name = "pate",
                 .kind = TrialKind::vote_student,
                 .teachers = kinds::kEnsemble,
                 .sources = sources::kPublic,
                 .source = QuerySource::public_split},
    MethodTraits{.name = "lp-2st",
                 .kind = TrialKind::label_student,
                 .sources = sources::kPrivate,
                 .source = QuerySource::private_split,
                 .stages = true},
    MethodTraits{.name = "alibi",
                 .kind = TrialKind::label_student,
                 .sources = sources::kPrivate,
                 .source = QuerySource::private_split,
                 .revision = 2},
    MethodTraits{.name = "fedavg",
                 .kind = TrialKind::federated_student,
                 .sources = sources::kPrivate,
                 .source = QuerySource::private_split},
    MethodTraits{.name = "dense",
                 .kind = TrialKind::raw_student,
                 .teachers = kinds::kEnsemble | kinds::kSingle,
                 .sources = sources::kGenerated,
                 .revision = 2},
    MethodTraits{.name = "sleep", .kind = TrialKind::sleeper, .sources = sources::kGenerated},
};
[[nodiscard]] constexpr std::span<const MethodTraits> GetMethods() { return kMethodTraits; }
// Null when there is none of that name.
[[nodiscard]] const MethodTraits* FindMethod(std::string_view name);
// Names of the readings that it has, in the order of the enumeration.
[[nodiscard]] std::vector<std::string> ListReadings(const MethodTraits& method);

// Visits the names of a list with spaces between.
template <typename Visit>
void VisitNames(std::string_view names, Visit visit) {
  while (!names.empty()) {
    const std::size_t end = names.find(' ');
    visit(names.substr(0, end));
    names.remove_prefix(end == std::string_view::npos ? names.size() : end + 1);
  }
}
// Whether such a list holds the name.
[[nodiscard]] bool HoldsName(std::string_view names, std::string_view name);

// From role, method, reading, branch, source and queries alone. Votes are the sound students that ask queries.
[[nodiscard]] TrialKind FindKind(const TrialSpec& spec);
// Raised when results of the method change for an unchanged spec; part of identity.
[[nodiscard]] int GetMethodRevision(const TrialSpec& spec);
// Whether the student's method asks an ensemble in its readings other than sound.
[[nodiscard]] bool AsksEnsemble(const TrialSpec& spec);
// Whether the student takes randomised responses in its readings other than sound: by its method, or by its branch.
[[nodiscard]] bool TakesResponses(const TrialSpec& spec);
// Whether the trial's method has the keys branch and trust.
[[nodiscard]] bool HasBranches(const TrialSpec& spec);
// Whether the trial's method takes all private examples in every step.
[[nodiscard]] bool TakesFullBatches(const TrialSpec& spec);
// Whether noise that a batch shares is drawn for every row of it, and added up.
[[nodiscard]] bool AddsUpRowNoise(const TrialSpec& spec);
// Whether responses leave as vectors of probabilities.
[[nodiscard]] bool GivesSoftAnswers(const TrialSpec& spec);
// Whose formula the trial's printed epsilon is.
[[nodiscard]] Paper FindPaper(const TrialSpec& spec);
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
