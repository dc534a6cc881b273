#include "worker/methods/method.h"

namespace retort::worker {
namespace {

Result<std::unique_ptr<Method>> MakeTeacher(const MethodInputs& inputs) {
  const std::string& method = inputs.spec.method;
  if (method == "plain") return MakePlainTeacher(inputs);
  if (method == "ensemble") return MakeEnsembleTeacher(inputs);
  if (method == "dpsgd") return MakeDpSgd(inputs);
  if (method == "loaded") return MakeLoadedTeacher(inputs);
  return UsageError("There is no teacher method '" + method + "'. Known: plain, ensemble, dpsgd, loaded.");
}

}  // namespace

Result<std::unique_ptr<Method>> MakeMethod(const MethodInputs& inputs) {
  if (inputs.spec.role == Role::teacher) return MakeTeacher(inputs);
  const std::string& method = inputs.spec.method;
  if (method == "dpsgd") return MakeDpSgd(inputs);
  if (method != "dpdfd") return UsageError("There is no method '" + method + "'. Known: dpdfd, dpsgd.");
  if (inputs.teacher == nullptr) return UsageError("The method dpdfd needs a teacher.");
  const bool votes = inputs.teacher->spec.method == "ensemble";
  if (!votes) return MakeDataFreeDistillation(inputs);
  return inputs.spec.source == QuerySource::generator ? MakeVoteGeneration(inputs) : MakeVoteDistillation(inputs);
}

}  // namespace retort::worker
