#include "orchestrator/audit_runner.h"

#include <utility>

#include "orchestrator/worker_question.h"

namespace retort::orchestrator {

Result<std::vector<privacy::AuditFinding>> AskForAudit(
    const std::string& program, const std::vector<std::string>& environment, const privacy::AuditOrder& order,
    const std::function<void(const cluster::Progress&)>& progress) {
  RETORT_ASSIGN_OR_RETURN(const std::string answer,
                          AskWorker({program, environment, privacy::kAuditArgument,
                                     privacy::EncodeAuditOrder(order), "the audit of trial " + order.trial},
                                    progress));
  RETORT_ASSIGN_OR_RETURN(privacy::AuditReport report, privacy::DecodeAuditReport(answer));
  return std::move(report.findings);
}

}  // namespace retort::orchestrator
