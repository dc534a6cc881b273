#include "worker/audit/audited_trial.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/spec/failure_kind.h"
#include "experiments/spec/trial_kind.h"
#include "storage/attempt_file.h"
#include "worker/trial_order.h"

namespace retort::worker::audit {
namespace {

Status StatusOf(const Failure& failure) {
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

Result<AuditedTrial> LoadAuditedTrial(const privacy::AuditOrder& order, storage::Env& env,
                                      const DeviceOpener& open) {
  TrialOrder run;
  const std::optional<TrialId> id = TrialId::FromHex(order.trial);
  if (!id) return UsageError("\"" + order.trial + "\" is no trial id.");
  run.attempt = {*id, 1};
  run.start.spec = order.spec;
  run.start.device = order.device;
  run.start.data_path = order.data_path;
  run.start.teacher_file = order.teacher_file;
  AuditedTrial trial{order, {}, {}, &env};
  if (const std::optional<Failure> failure = LoadTrialInputs(run, env, open, trial.inputs))
    return StatusOf(*failure);
  if (order.attempt_file.empty()) return trial;
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, storage::ReadAttemptFile(order.attempt_file));
  if (file.trial != order.trial)
    return DamageError(order.attempt_file + " belongs to trial " + file.trial + ", not to " + order.trial +
                       ".");
  trial.parameters = std::move(file.parameters);
  return trial;
}

std::optional<double> ProvenEpsilon(const std::vector<privacy::Claim>& claims,
                                    const privacy::Relation& relation) {
  std::optional<double> least;
  for (const privacy::Claim& claim : claims) {
    if (claim.status != privacy::ClaimStatus::proven || !std::isfinite(claim.epsilon)) continue;
    if (claim.adjacency != relation.adjacency || claim.neighbour != relation.neighbour) continue;
    least = std::min(least.value_or(claim.epsilon), claim.epsilon);
  }
  return least;
}

privacy::AuditFinding NotDone(privacy::AuditKind kind, const AuditedTrial& trial, std::string why) {
  privacy::AuditFinding finding;
  finding.kind = kind;
  finding.subject = KindName(KindOf(trial.inputs.spec));
  finding.ran = false;
  finding.confidence = trial.order.confidence;
  finding.note = std::move(why);
  return finding;
}

}  // namespace retort::worker::audit
