#include "orchestrator/agent/worker_query.h"

#include <optional>
#include <utility>
#include <variant>

#include "cluster/messages.h"
#include "cluster/worker_process.h"

namespace retort::orchestrator {
namespace {

Status ToStatus(const cluster::Ended& ended) {
  if (ended.failure == FailureKind::configuration) return UsageError(ended.detail);
  if (ended.failure == FailureKind::disk) return DamageError(ended.detail);
  return EnvironmentError(ended.detail);
}

}  // namespace

Result<std::string> QueryWorker(const WorkerQuery& question,
                                const std::function<void(const cluster::Progress&)>& progress) {
  RETORT_RETURN_IF_ERROR(cluster::CheckWorkerProgram(question.program));
  RETORT_ASSIGN_OR_RETURN(
      cluster::WorkerProcess worker,
      cluster::WorkerProcess::Spawn({question.program, {question.argument, question.order}, question.environment, ""}));
  std::optional<std::string> answer;
  for (;;) {
    const Result<std::optional<cluster::Envelope>> received = worker.link().Receive(question.silence);
    if (!received.ok()) return EnvironmentError("The worker program ended in the middle of " + question.about + ".");
    if (!received->has_value())
      return EnvironmentError("The worker program said nothing for " + std::to_string(question.silence.count()) +
                              " s of " + question.about + ".");
    const cluster::Message& message = (*received)->message;
    if (const auto* news = std::get_if<cluster::Progress>(&message)) progress(*news);
    if (const auto* said = std::get_if<cluster::Answer>(&message)) answer = said->text;
    const auto* ended = std::get_if<cluster::Ended>(&message);
    if (ended == nullptr) continue;
    if (!ended->succeeded) return ToStatus(*ended);
    if (!answer) return EnvironmentError("The worker program gave no report of " + question.about + ".");
    return *std::move(answer);
  }
}

Result<std::vector<privacy::AuditFinding>> RequestAudit(const std::string& program,
                                                        const std::vector<std::string>& environment,
                                                        const privacy::AuditOrder& order,
                                                        const std::function<void(const cluster::Progress&)>& progress) {
  RETORT_ASSIGN_OR_RETURN(const std::string answer,
                          QueryWorker({program, environment, privacy::kAuditArgument, privacy::EncodeAuditOrder(order),
                                       "the audit of trial " + order.trial},
                                      progress));
  RETORT_ASSIGN_OR_RETURN(privacy::AuditReport report, privacy::DecodeAuditReport(answer));
  return std::move(report.findings);
}

}  // namespace retort::orchestrator
