#include "experiments/privacy/accountants/reasons.h"

#include <array>
#include <utility>

namespace retort::privacy {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 51> kTexts = {{
    {reason::kSeededNoise, "The noise came from a seed, so whoever knows the seed can subtract it."},
    {reason::kFloatNoise,
     "The noise was drawn and added in floating point: the last digits of what left tell what it was added to."},
    {reason::kRawAnswers, "Answers of the teacher left without noise."},
    {reason::kNoNoise, "The noise had standard deviation 0."},
    {reason::kNoNoiseSource, "No noise source was recorded for the release."},
    {reason::kBroadcastNoise, "The noise had fewer coordinates than the release, so some direction carries none."},
    {reason::kNotFinite, "A recorded scale is not a finite number."},
    {reason::kBadEvent, "A recorded event is outside what a mechanism can do."},
    {reason::kBadDelta, "delta must lie between 0 and 1."},
    {reason::kNoRelease, "The ledger holds no release of this trial."},
    {reason::kNotPrivatelyTrained, "The network was trained on private examples without noise."},
    {reason::kLoadedWeights, "The teacher came from a file: nobody recorded what it was trained on, or how."},
    {reason::kPrivateSource, "Private images were queried and their un-noised Jacobians are released."},
    {reason::kUnexpectedMechanism, "The ledger holds a mechanism that this kind of trial does not use."},
    {reason::kLossNoise, "Noise on the value of a loss never reaches the update of the weights."},
    {reason::kNoBound, "The accountant found no finite bound."},
    {reason::kNoFiniteOrder, "Renyi differential privacy is infinite, or too large to compute, at every order."},
    {reason::kWrongRdp, "The Renyi divergence came out negative or undefined, so it is not believed."},
    {reason::kNoiseEnds,
     "So little noise was drawn that what leaves can lie where its noise, which ends some 13 deviations out, cannot "
     "put a "
     "neighbour's."},
    {reason::kDrawsEnd,
     "So many candidates are drawn, so often, that the most that can be drawn is within reach at this delta: lower the "
     "mean of K, or raise eta."},
    {reason::kCandidateDelta,
     "The delta of the candidates, times the mean of K, is above the delta of the claim: no epsilon covers that."},
    {reason::kCandidateOutsidePlan,
     "A trial that a selection had drawn released something that none of its candidates was planned to release."},
    {reason::kTooLarge, "The privacy loss is larger than any number that can be computed with."},
    {reason::kUndefinedFormula, "The paper's formula is undefined at these parameters."},
    {reason::kUnrecordedDetachment, "Nothing records that the answers were detached before the generator saw them."},
    {reason::kUnrecordedDriver, "Nothing records that the generator was trained through the student alone."},
    {reason::kUnrecordedShards, "Nothing records that the members of the ensemble saw disjoint shards."},
    {reason::kUnrecordedApart, "Nothing records that each member of the ensemble depends on its own shard alone."},
    {reason::kUnrecordedBatchNorm,
     "Nothing records that no layer of the network mixed the private examples of a batch."},
    {reason::kUnrecordedAugmentation,
     "Nothing records that an example was augmented alike whichever others were drawn with it."},
    {reason::kUnrecordedParts, "Nothing records that each private label was released once."},
    {reason::kUnrecordedValidation,
     "Nothing records that the examples that candidates were compared on are apart from those of the training."},
    {reason::kUnrecordedEndless,
     "Nothing records that the noise on labels had no end, which so large an epsilon0 needs."},
    {reason::kLabelsOnly, "Only the labels are protected: the private images were trained on as they are."},
    {reason::kAllMembers, "What one member of the ensemble may change is bounded, what all change together is not."},
    {reason::kMissingAnswer, "A member that says nothing leaves one answer fewer, and how many there are is released."},
    {reason::kShardsFollowExamples,
     "Which member an example went to depends on the labels of the others, or on whether they could be read, so that "
     "one "
     "example can change several."},
    {reason::kSplitByLabels,
     "Which examples are private depends on their labels (sensitive_classes), so that another label moves its "
     "example."},
    {reason::kUnknownTeacherAccount, "What its teacher was charged for is not known."},
    {reason::kNoSpec, "Nothing is known about the trial."},
    {reason::kLedgerLost, "The ledger is not whole: what is lost of it charged an unknown amount."},
    {reason::kRootUnknown, "What another sweep of the results root charged cannot be read."},
    {kVoidTeacherJacobian, "The annotation was not detached: un-noised teacher gradients reach the generator."},
    {kVoidGeneratorTouchedTeacher, "The generator was trained against the raw teacher."},
    {kVoidSoftOutput, "The mechanism returned the teacher's soft answer instead of one class."},
    {kVoidSupportLeak, "Which outputs are possible depends on the teacher."},
    {kVoidNoiseReused, "One draw of noise covered two releases."},
    {reason::kSharedExample,
     "A picture of the private split is in the public or the test split, too: take it out of one of them."},
    {kVoidRefuted, "An audit shows more than was proven, so the proof or the mechanism is wrong."},
    {reason::kAuditUnknown, "What an audit found of it cannot be read, and may be that nothing holds."},
    {kVoidTooManyDraws, "More draws were charged than can be counted."},
}};

}  // namespace

std::string_view DescribeReason(std::string_view name) {
  for (const auto& [known, text] : kTexts) {
    if (known == name) return text;
  }
  return name;
}

}  // namespace retort::privacy
