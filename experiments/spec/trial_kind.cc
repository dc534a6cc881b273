#include "experiments/spec/trial_kind.h"

#include "experiments/spec/methods.h"

namespace retort {
namespace {

TrialKind TeacherKind(const TrialSpec& spec) {
  if (spec.method == "ensemble") return TrialKind::ensemble_teacher;
  if (spec.method == "loaded") return TrialKind::loaded_teacher;
  const bool noisy = spec.method == "dpsgd" || spec.method == "dp-gd";
  return noisy ? TrialKind::dpsgd_teacher : TrialKind::plain_teacher;
}

}  // namespace

TrialKind KindOf(const TrialSpec& spec) {
  if (spec.role == Role::teacher) return TeacherKind(spec);
  const MethodRule* method = FindMethod(spec.method);
  const TrialKind otherwise = method != nullptr ? method->kind : TrialKind::gradient_student;
  constexpr KindMask kSameInAllReadings =
      MaskOf(TrialKind::vote_student) | MaskOf(TrialKind::dpsgd_student) | MaskOf(TrialKind::sleeper) | MaskOf(TrialKind::query_student) |
      MaskOf(TrialKind::raw_student) | MaskOf(TrialKind::merf_student) | MaskOf(TrialKind::label_student) |
      MaskOf(TrialKind::federated_student) | MaskOf(TrialKind::spectral_student);
  if ((MaskOf(otherwise) & kSameInAllReadings) != 0) return otherwise;
  if (spec.reading == Reading::sound) {
    if (spec.queries > 0) return TrialKind::vote_student;
    return spec.source == QuerySource::public_split ? TrialKind::labelled_student : TrialKind::distilled_student;
  }
  if (spec.method == "feddpsd" && spec.branch == Branch::label) return TrialKind::response_student;
  return otherwise;
}

bool AsksVotes(const TrialSpec& spec) {
  const TrialKind kind = KindOf(spec);
  if (kind == TrialKind::query_student) return spec.reading == Reading::sound && spec.queries > 0;
  return kind == TrialKind::vote_student;
}

bool AsksNobody(const TrialSpec& spec) {
  const bool asks = spec.hint_epochs > 0 || (spec.rounds > 0 && spec.distill_epochs > 0);
  return KindOf(spec) == TrialKind::query_student && !asks;
}

bool ShardsFollowExamples(const TrialSpec& ensemble) {
  if (ensemble.partition == Partition::dirichlet) return true;
  const DataSpec* data = ensemble.data.get();
  return data != nullptr && (!data->sensitive_classes.empty() || data->preprocessing.on_error == OnError::skip_and_count);
}

bool AugmentsImages(const TrialSpec& spec) {
  return spec.augment != Augment::none && (spec.augment != Augment::shift || spec.shift > 0);
}

bool AugmentsPrivately(const TrialSpec& spec) {
  const TrialKind kind = KindOf(spec);
  return AugmentsImages(spec) && (kind == TrialKind::dpsgd_student || kind == TrialKind::dpsgd_teacher);
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
      return "student by noisy gradients";
    case TrialKind::distilled_student:
      return "sound student of a DP-SGD teacher";
    case TrialKind::vote_student:
      return "student by noisy votes";
    case TrialKind::dpsgd_student:
      return "dpsgd student";
    case TrialKind::sleeper:
      return "sleeping trial";
    case TrialKind::response_student:
      return "student by randomised response";
    case TrialKind::query_student:
      return "rona student";
    case TrialKind::raw_student:
      return "dense student";
    case TrialKind::merf_student:
      return "dp-merf student";
    case TrialKind::label_student:
      return "label-private student";
    case TrialKind::federated_student:
      return "fedavg student";
    case TrialKind::labelled_student:
      return "sound student on public pictures of a DP-SGD teacher";
    case TrialKind::spectral_student:
      return "dp-spectral student";
  }
  return "trial";
}

}  // namespace retort
