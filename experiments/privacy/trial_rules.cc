#include "experiments/privacy/trial_rules.h"

#include <algorithm>
#include <array>

#include "experiments/privacy/reasons.h"
#include "experiments/spec/trial_kind.h"

namespace retort::privacy {

bool OnlyAsksTheTeacher(const TrialSpec& spec, const std::vector<PrivacyEvent>& events) {
  constexpr std::array kOfTheTeacher = {kVoidTeacherJacobian, kVoidGeneratorTouchedTeacher, kVoidSoftOutput,
                                        kVoidSupportLeak, kVoidNoiseReused};
  constexpr KindMask kAsking = MaskOf(TrialKind::gradient_student) | MaskOf(TrialKind::distilled_student) |
                               MaskOf(TrialKind::response_student) | MaskOf(TrialKind::query_student) |
                               MaskOf(TrialKind::labelled_student);
  if ((MaskOf(KindOf(spec)) & kAsking) == 0) return false;
  if (spec.source == QuerySource::private_split) return false;
  constexpr std::array kAnswers = {MechanismKind::none, MechanismKind::gaussian_gradient,
                                   MechanismKind::randomized_response, MechanismKind::loss_noise};
  return std::all_of(events.begin(), events.end(), [&](const PrivacyEvent& event) {
    const bool answers = std::find(kAnswers.begin(), kAnswers.end(), event.kind) != kAnswers.end();
    return answers && std::all_of(event.voids.begin(), event.voids.end(), [&](const std::string& name) {
             return std::find(kOfTheTeacher.begin(), kOfTheTeacher.end(), name) != kOfTheTeacher.end();
           });
  });
}

bool SelectedOnTest(const TrialSpec& spec, const std::vector<Claim>& teacher) {
  return spec.stop_metric == StopMetric::accuracy ||
         std::any_of(teacher.begin(), teacher.end(), [](const Claim& claim) {
           return std::binary_search(claim.assumptions.begin(), claim.assumptions.end(), kSelectedOnTest);
         });
}

void LabelSelection(std::vector<Claim>& claims) {
  for (Claim& claim : claims) {
    std::vector<std::string>& names = claim.assumptions;
    const auto place = std::lower_bound(names.begin(), names.end(), kSelectedOnTest);
    if (place == names.end() || *place != kSelectedOnTest) names.insert(place, std::string(kSelectedOnTest));
  }
}

std::string_view WithoutRelease(const TrialSpec& spec) {
  switch (KindOf(spec)) {
    case TrialKind::plain_teacher:
    case TrialKind::federated_student:
      return reason::kNotPrivatelyTrained;
    case TrialKind::ensemble_teacher:
      return ShardsFollowExamples(spec) ? reason::kShardsFollowExamples : reason::kNotPrivatelyTrained;
    case TrialKind::loaded_teacher:
      return reason::kLoadedWeights;
    case TrialKind::raw_student:
      return reason::kRawAnswers;
    default:
      return reason::kUnexpectedMechanism;
  }
}

}  // namespace retort::privacy
