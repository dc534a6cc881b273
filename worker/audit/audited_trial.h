// The trial that an audit works on: its inputs, its parameters, and the network that it ended with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/relation.h"
#include "storage/files/env.h"
#include "worker/devices/devices.h"
#include "worker/models/network.h"
#include "worker/run/trial_inputs.h"

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
[[nodiscard]] std::optional<double> FindProvenEpsilon(const std::vector<privacy::Claim>& claims,
                                                      const privacy::Relation& relation);

// A finding of `kind` that did not run.
[[nodiscard]] privacy::AuditFinding MakeSkippedFinding(privacy::AuditKind kind, const AuditedTrial& trial,
                                                       std::string why);

// Why the trial has no final network that an attacker would see, or no private examples to attack; empty where there
// is.
[[nodiscard]] std::string ExplainNoFinalNetwork(const AuditedTrial& trial);

// The network of `spec` with the parameters that its trial ended with; `data` gives shape, classes and
// device. Error: damage, when the parameters are not the network's.
[[nodiscard]] Result<std::unique_ptr<Network>> MakeNetworkWith(const TrialSpec& spec, const Dataset& data,
                                                               const std::vector<storage::TensorBlob>& parameters);

// Where ExplainNoFinalNetwork is empty. Error: damage, when the file does not fit its own spec.
[[nodiscard]] Result<std::unique_ptr<Network>> MakeFinalNetwork(const AuditedTrial& trial);

}  // namespace retort::worker::audit
