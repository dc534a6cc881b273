// Starts a worker process for one query and waits for its answer.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "experiments/base/status.h"
#include "experiments/privacy/audit_report.h"

namespace retort::orchestrator {

struct WorkerQuery {
  std::string program;                   // absolute path of retort-worker
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string argument, order;           // of its command line
  std::string about;                     // "the audit of trial X", in messages
  std::chrono::seconds silence{1800};    // longest time without a message
};

// Returns the text of the answer (cluster/worker_questions.h). `progress` is called with the progress that the worker
// reports. What the worker writes goes to stderr. Error: environment, when the program cannot be started, ends without
// an answer, or says nothing for `silence`; usage, damage or environment as it says itself.
[[nodiscard]] Result<std::string> QueryWorker(const WorkerQuery& question,
                                              const std::function<void(const cluster::Progress&)>& progress);

// Asks a worker process to audit a trial.

// Starts `program` with the order, in `environment` ("NAME=value", complete), and waits for its findings;
// `progress` hears what it says meanwhile. What the program writes goes to stderr. Error: environment, when
// it cannot be started, ends without an answer, or says nothing for half an hour; usage, damage or
// environment as it says itself.
[[nodiscard]] Result<std::vector<privacy::AuditFinding>> RequestAudit(
    const std::string& program, const std::vector<std::string>& environment, const privacy::AuditOrder& order,
    const std::function<void(const cluster::Progress&)>& progress);

}  // namespace retort::orchestrator
