#include "worker/audit/audited_trial.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/base/failure_kind.h"
#include "experiments/methods/methods.h"
#include "storage/results/attempt_file.h"
#include "worker/models/model_registry.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker::audit {

namespace {

Status ToStatus(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::configuration:
      return UsageError(failure.detail);
    case FailureKind::disk:
      return DamageError(failure.detail);
    default:
      return EnvironmentError(failure.detail);
  }
}

}  // namespace

Result<AuditedTrial> LoadAuditedTrial(const privacy::AuditOrder& order, storage::Env& env, const DeviceOpener& open) {
  TrialOrder run;
  const std::optional<TrialId> id = TrialId::FromHex(order.trial);
  if (!id) return UsageError("\"" + order.trial + "\" is no trial id.");
  run.attempt = {*id, 1};
  run.start.spec = order.spec;
  run.start.device = order.device;
  run.start.data_path = order.data_path;
  run.start.teacher_file = order.teacher_file;
  AuditedTrial trial{order, {}, {}, &env};
  if (const std::optional<Failure> failure = LoadTrialInputs(run, env, open, trial.inputs)) return ToStatus(*failure);
  if (order.attempt_file.empty()) return trial;
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, storage::ReadAttemptFile(order.attempt_file));
  if (file.trial != order.trial)
    return DamageError(order.attempt_file + " belongs to trial " + file.trial + ", not to " + order.trial + ".");
  trial.parameters = std::move(file.parameters);
  return trial;
}

std::optional<double> FindProvenEpsilon(const std::vector<privacy::Claim>& claims, const privacy::Relation& relation) {
  std::optional<double> least;
  for (const privacy::Claim& claim : claims) {
    if (claim.status != privacy::ClaimStatus::proven || !std::isfinite(claim.epsilon)) continue;
    if (claim.adjacency != relation.adjacency || claim.neighbour != relation.neighbour) continue;
    least = std::min(least.value_or(claim.epsilon), claim.epsilon);
  }
  return least;
}

privacy::AuditFinding MakeSkippedFinding(privacy::AuditKind kind, const AuditedTrial& trial, std::string why) {
  privacy::AuditFinding finding;
  finding.kind = kind;
  finding.subject = GetKindName(FindKind(trial.inputs.spec));
  finding.ran = false;
  finding.confidence = trial.order.confidence;
  finding.note = std::move(why);
  return finding;
}

std::string ExplainNoFinalNetwork(const AuditedTrial& trial) {
  const TrialKind kind = FindKind(trial.inputs.spec);
  if (IsEnsemble(kind)) return "an ensemble is never released; audit the students that it teaches";
  if (trial.inputs.spec.network == kTorchScript) return "a TorchScript module is audited through its students";
  if (IsSleeper(kind)) return "the trial trains nothing";
  if (trial.parameters.empty()) return "attempt.h5 holds no parameters";
  const Dataset& data = trial.inputs.data;
  if (data.train.size() == 0 || data.test.size() == 0) return "the attack needs private and test examples";
  return "";
}

Result<std::unique_ptr<Network>> MakeNetworkWith(const TrialSpec& spec, const Dataset& data,
                                                 const std::vector<storage::TensorBlob>& parameters) {
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<Network> network,
                          MakeNetwork(spec, data.shape, data.classes, std::nullopt, data.device));
  const char* prefix = spec.role == Role::teacher ? "teacher/" : "student/";
  RETORT_RETURN_IF_ERROR(network->LoadState(prefix, parameters));
  return network;
}

Result<std::unique_ptr<Network>> MakeFinalNetwork(const AuditedTrial& trial) {
  return MakeNetworkWith(trial.inputs.spec, trial.inputs.data, trial.parameters);
}

}  // namespace retort::worker::audit
