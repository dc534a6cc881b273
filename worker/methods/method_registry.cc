#include "experiments/spec/methods.h"
#include "worker/methods/method.h"

namespace retort::worker {
namespace {

Result<std::unique_ptr<Method>> MakeTeacher(const MethodInputs& inputs) {
  const std::string& method = inputs.spec.method;
  if (method == "plain") return MakePlainTeacher(inputs);
  if (method == "ensemble") return MakeEnsembleTeacher(inputs);
  if (method == "dpsgd" || method == "dp-gd") return MakeDpSgd(inputs);
  if (method == "loaded") return MakeLoadedTeacher(inputs);
  return UsageError("There is no teacher method '" + method + "'. Known: plain, ensemble, dpsgd, loaded.");
}

}  // namespace

Result<std::unique_ptr<Method>> MakeMethod(const MethodInputs& inputs) {
  if (inputs.spec.role == Role::teacher) return MakeTeacher(inputs);
  const std::string& method = inputs.spec.method;
  const MethodRule* rule = FindMethod(method);
  if (rule == nullptr) return UsageError("There is no method '" + method + "'.");
  if (rule->teachers != 0 && inputs.teacher == nullptr) return UsageError("The method " + method + " needs a teacher.");
  const bool fits = inputs.teacher == nullptr || inputs.spec.reading == Reading::sound ||
                    (rule->teachers & MaskOf(KindOf(inputs.teacher->spec))) != 0;
  if (!fits)
    return UsageError("The method " + method + " does not ask a " +
                      std::string(KindName(KindOf(inputs.teacher->spec))) + ".");
  switch (KindOf(inputs.spec)) {
    case TrialKind::dpsgd_student:
      return MakeDpSgd(inputs);
    case TrialKind::gradient_student:
    case TrialKind::distilled_student:
      return MakeDataFreeDistillation(inputs);
    case TrialKind::query_student:
      return MakeRona(inputs);
    case TrialKind::response_student:
      return MakeResponseDistillation(inputs);
    case TrialKind::vote_student:
      return inputs.spec.source == QuerySource::generator ? MakeVoteGeneration(inputs) : MakeVoteDistillation(inputs);
    case TrialKind::labelled_student:
      return MakePublicDistillation(inputs);
    case TrialKind::raw_student:
      return MakeDenseDistillation(inputs);
    case TrialKind::merf_student:
      return MakeMeanEmbedding(inputs);
    case TrialKind::spectral_student:
      return MakeSpectralLabels(inputs);
    case TrialKind::label_student:
      return method == "alibi" ? MakeAlibi(inputs) : MakeLabelStages(inputs);
    case TrialKind::federated_student:
      return MakeFederatedAveraging(inputs);
    default:
      return UsageError("The method " + method + " is not built into this worker.");
  }
}

}  // namespace retort::worker
