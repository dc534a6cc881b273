// Why a claim has no finite bound: one stable name each, and its sentence for people.
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
// Also a name for PrivacyEvent::voids: the public or the test split holds a picture of the private one, so what is shown
// or measured on it is of that person, without noise. Leaves claims about answers and about the teacher bounded.
inline constexpr std::string_view kSharedExample = "private-example-in-another-split";
inline constexpr std::string_view kPrivateSource = "private-images-queried";
inline constexpr std::string_view kUnexpectedMechanism = "unexpected-mechanism";
inline constexpr std::string_view kLossNoise = "noise-does-not-reach-the-update";
inline constexpr std::string_view kNoBound = "accountant-found-no-bound";
inline constexpr std::string_view kNoFiniteOrder = "no-finite-order";
inline constexpr std::string_view kWrongRdp = "negative-or-undefined-rdp";
inline constexpr std::string_view kNoiseEnds = "noise-ends-within-reach";
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

// One sentence for a reason above or a void of privacy_event.h; the name itself for any other.
[[nodiscard]] std::string_view ReasonText(std::string_view name);

}  // namespace retort::privacy
