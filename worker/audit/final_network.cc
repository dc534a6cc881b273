#include "worker/audit/final_network.h"

#include "experiments/spec/trial_kind.h"
#include "worker/models/model_registry.h"

namespace retort::worker::audit {

std::string NoFinalNetwork(const AuditedTrial& trial) {
  const TrialKind kind = KindOf(trial.inputs.spec);
  if (kind == TrialKind::ensemble_teacher)
    return "an ensemble is never released; audit the students that it teaches";
  if (trial.inputs.spec.network == kTorchScript) return "a TorchScript module is audited through its students";
  if (kind == TrialKind::sleeper) return "the trial trains nothing";
  if (trial.parameters.empty()) return "attempt.h5 holds no parameters";
  const Dataset& data = trial.inputs.data;
  if (data.train.size() == 0 || data.test.size() == 0) return "the attack needs private and test examples";
  return "";
}

Result<std::unique_ptr<Network>> NetworkWith(const TrialSpec& spec, const Dataset& data,
                                             const std::vector<storage::TensorBlob>& parameters) {
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(spec, data.shape, data.classes, std::nullopt, data.device));
  const char* prefix = spec.role == Role::teacher ? "teacher/" : "student/";
  RETORT_RETURN_IF_ERROR(network->LoadState(prefix, parameters));
  return network;
}

Result<std::unique_ptr<Network>> FinalNetwork(const AuditedTrial& trial) {
  return NetworkWith(trial.inputs.spec, trial.inputs.data, trial.parameters);
}

}  // namespace retort::worker::audit
