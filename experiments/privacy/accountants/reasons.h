// Why a claim has no finite bound: one stable name for each reason, and its sentence for people.
#pragma once

#include <string_view>

namespace retort::privacy::reason {

inline constexpr std::string_view kSeededNoise = "seeded-noise";
inline constexpr std::string_view kFloatNoise = "float-noise";
inline constexpr std::string_view kRawAnswers = "raw-answers";
inline constexpr std::string_view kNoNoise = "no-noise";
inline constexpr std::string_view kNoNoiseSource = "no-noise-source";
inline constexpr std::string_view kBroadcastNoise = "broadcast-noise";
inline constexpr std::string_view kNotFinite = "not-finite";
inline constexpr std::string_view kBadEvent = "bad-event";
inline constexpr std::string_view kBadDelta = "bad-delta";
inline constexpr std::string_view kNoRelease = "no-recorded-release";
inline constexpr std::string_view kNotPrivatelyTrained = "not-privately-trained";
inline constexpr std::string_view kLoadedWeights = "loaded-weights";
// Also a name for PrivacyEvent::voids: the public or the test split holds an image of the private one, so what is
// shown or measured on it is of that person, without noise. Leaves claims about answers and about the teacher bounded.
inline constexpr std::string_view kSharedExample = "private-example-in-another-split";
inline constexpr std::string_view kPrivateSource = "private-images-queried";
inline constexpr std::string_view kUnexpectedMechanism = "unexpected-mechanism";
inline constexpr std::string_view kLossNoise = "noise-does-not-reach-the-update";
inline constexpr std::string_view kNoBound = "accountant-found-no-bound";
inline constexpr std::string_view kNoFiniteOrder = "no-finite-order";
inline constexpr std::string_view kWrongRdp = "negative-or-undefined-rdp";
inline constexpr std::string_view kNoiseEnds = "noise-ends-within-reach";
inline constexpr std::string_view kDrawsEnd = "draws-end-within-reach";
inline constexpr std::string_view kCandidateDelta = "candidate-delta-too-large";
// Also a name for PrivacyEvent::voids: a drawn trial was charged for more than any candidate was planned to cost.
inline constexpr std::string_view kCandidateOutsidePlan = "candidate-outside-plan";
inline constexpr std::string_view kTooLarge = "loss-too-large-to-compute";
inline constexpr std::string_view kUndefinedFormula = "formula-undefined-here";
inline constexpr std::string_view kUnrecordedDetachment = "unrecorded-detached-target";
inline constexpr std::string_view kUnrecordedDriver = "unrecorded-student-drives-generator";
inline constexpr std::string_view kUnrecordedShards = "unrecorded-disjoint-shards";
inline constexpr std::string_view kUnrecordedApart = "unrecorded-members-trained-apart";
inline constexpr std::string_view kUnrecordedBatchNorm = "unrecorded-no-batch-norm";
inline constexpr std::string_view kUnrecordedAugmentation = "unrecorded-augmented-alone";
inline constexpr std::string_view kUnrecordedParts = "unrecorded-labels-released-once";
inline constexpr std::string_view kUnrecordedEndless = "unrecorded-noise-without-end";
inline constexpr std::string_view kUnrecordedValidation = "unrecorded-validation-apart";
inline constexpr std::string_view kLabelsOnly = "only-labels-are-protected";
inline constexpr std::string_view kAllMembers = "members-answer-together";
inline constexpr std::string_view kMissingAnswer = "missing-answer-shows";
inline constexpr std::string_view kShardsFollowExamples = "shards-depend-on-examples";
inline constexpr std::string_view kSplitByLabels = "split-depends-on-labels";
inline constexpr std::string_view kUnknownTeacherAccount = "unknown-teacher-account";
inline constexpr std::string_view kNoSpec = "no-trial-description";
// Also a name for PrivacyEvent::voids, of views alone: what audits found of the trial cannot be read.
inline constexpr std::string_view kAuditUnknown = "audit-unreadable";
// Of totals alone.
inline constexpr std::string_view kLedgerLost = "ledger-lost";
inline constexpr std::string_view kRootUnknown = "other-sweeps-unknown";

}  // namespace retort::privacy::reason

namespace retort::privacy {

// Names for PrivacyEvent::voids. Any name that is not one of these voids every claim of the trial,
// inherited ones included.
// The stored annotation was not detached, so un-noised teacher gradients reach the generator.
inline constexpr std::string_view kVoidTeacherJacobian = "teacher-jacobian-reaches-generator";
// The generator was trained against the raw teacher; leaves `answer` and `slot` bounded.
inline constexpr std::string_view kVoidGeneratorTouchedTeacher = "generator-touched-teacher";
// A response mechanism returned the soft answer instead of one class.
inline constexpr std::string_view kVoidSoftOutput = "soft-output";
// Which outputs are possible depends on the teacher (a top-k mask, unequal answer sets).
inline constexpr std::string_view kVoidSupportLeak = "teacher-dependent-support";
// One draw of noise covered two releases.
inline constexpr std::string_view kVoidNoiseReused = "noise-reused";
// The teacher was loaded from a file: whose examples it holds, and how often, is not known. Leaves `answer`, `slot`
// and `teacher` bounded. The name is that of reason::kLoadedWeights.
inline constexpr std::string_view kVoidLoadedWeights = "loaded-weights";
// An audit of the trial shows more than its claims allow. Of views alone: no ledger holds it.
inline constexpr std::string_view kVoidRefuted = "refuted-by-audit";
// More draws than can be counted.
inline constexpr std::string_view kVoidTooManyDraws = "too-many-draws";

// One sentence for a reason or a void above; the name itself for any other.
[[nodiscard]] std::string_view DescribeReason(std::string_view name);

}  // namespace retort::privacy
