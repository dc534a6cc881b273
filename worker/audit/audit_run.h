// Audits of one finished trial.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/socket_link.h"
#include "experiments/base/status.h"
#include "experiments/privacy/audit_report.h"
#include "storage/files/env.h"
#include "worker/devices/devices.h"

namespace retort::worker::audit {

// What is under way: the name of the audit, and how far it is.
using AuditProgress = std::function<void(const std::string& phase, std::int64_t step, std::int64_t steps)>;

// Findings of every kind that the order asks for, in its order. What does not apply to the trial, or cannot
// be done with what it left, is a finding that did not run and says why. The private examples, the trial's
// networks and its teacher's answers are read; nothing is charged, and the findings are as private as the
// examples are. Error: the data set, the trial's file or its teacher's cannot be read; environment for
// LibTorch's own failures.
[[nodiscard]] Result<std::vector<privacy::AuditFinding>> RunAudits(const privacy::AuditOrder& order, storage::Env& env,
                                                                   const DeviceOpener& open,
                                                                   const AuditProgress& progress);

// An audit as `retort` asks for it: the order on the command line, the answer over the socket.

// Sends Progress while it goes on, then an answer (cluster/worker_questions.h): an AuditReport of no row
// (audit_report.h), or why there is none. Error: that of the link.
[[nodiscard]] Status ServeAudit(cluster::SocketLink& link, const std::string& order, storage::Env& env,
                                Devices& devices);

}  // namespace retort::worker::audit
