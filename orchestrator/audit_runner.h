// Asks a worker process to audit a trial.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "experiments/privacy/audit_order.h"
#include "experiments/privacy/audit_report.h"
#include "experiments/spec/status.h"

namespace retort::orchestrator {

// Starts `program` with the order, in `environment` ("NAME=value", complete), and waits for its findings;
// `progress` hears what it says meanwhile. What the program writes goes to stderr. Error: environment, when
// it cannot be started, ends without an answer, or says nothing for half an hour; usage, damage or
// environment as it says itself.
[[nodiscard]] Result<std::vector<privacy::AuditFinding>> AskForAudit(
    const std::string& program, const std::vector<std::string>& environment, const privacy::AuditOrder& order,
    const std::function<void(const cluster::Progress&)>& progress);

}  // namespace retort::orchestrator
