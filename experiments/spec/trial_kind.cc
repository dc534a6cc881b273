#include "experiments/spec/trial_kind.h"

namespace retort {

TrialKind KindOf(const TrialSpec& spec) {
  if (spec.role == Role::teacher) {
    if (spec.method == "ensemble") return TrialKind::ensemble_teacher;
    if (spec.method == "loaded") return TrialKind::loaded_teacher;
    return spec.method == "dpsgd" ? TrialKind::dpsgd_teacher : TrialKind::plain_teacher;
  }
  if (spec.method == "dpsgd") return TrialKind::dpsgd_student;
  if (spec.method == "sleep") return TrialKind::sleeper;
  if (spec.reading != Reading::sound) return TrialKind::gradient_student;
  return spec.queries > 0 ? TrialKind::vote_student : TrialKind::distilled_student;
}

std::string_view KindName(TrialKind kind) {
  switch (kind) {
    case TrialKind::plain_teacher:
      return "plain teacher";
    case TrialKind::ensemble_teacher:
      return "ensemble teacher";
    case TrialKind::dpsgd_teacher:
      return "DP-SGD teacher";
    case TrialKind::loaded_teacher:
      return "loaded teacher";
    case TrialKind::gradient_student:
      return "dpdfd student by noisy gradients";
    case TrialKind::distilled_student:
      return "sound dpdfd student of a DP-SGD teacher";
    case TrialKind::vote_student:
      return "sound dpdfd student of an ensemble";
    case TrialKind::dpsgd_student:
      return "dpsgd student";
    case TrialKind::sleeper:
      return "sleeping trial";
  }
  return "trial";
}

}  // namespace retort
