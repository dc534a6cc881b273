// What an audit works on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/privacy/audit_order.h"
#include "experiments/privacy/relation.h"
#include "experiments/spec/status.h"
#include "storage/env.h"
#include "worker/devices.h"
#include "worker/trial_inputs.h"

namespace retort::worker::audit {

struct AuditedTrial {
  privacy::AuditOrder order;
  TrialInputs inputs;                           // spec, data, and the teacher's artifact
  std::vector<storage::TensorBlob> parameters;  // that the trial ended with
  storage::Env* env = nullptr;                  // outlives this
};

// Error: usage, data or environment, as LoadTrialInputs says; damage for a file that is not the trial's.
[[nodiscard]] Result<AuditedTrial> LoadAuditedTrial(const privacy::AuditOrder& order, storage::Env& env,
                                                    const DeviceOpener& open);

// The least finite proven epsilon of `claims` under the relation; nothing when there is none.
[[nodiscard]] std::optional<double> ProvenEpsilon(const std::vector<privacy::Claim>& claims,
                                                  const privacy::Relation& relation);

// A finding of `kind` that did not run.
[[nodiscard]] privacy::AuditFinding NotDone(privacy::AuditKind kind, const AuditedTrial& trial,
                                            std::string why);

}  // namespace retort::worker::audit
