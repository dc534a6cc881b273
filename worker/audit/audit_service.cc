#include "worker/audit/audit_service.h"

#include <chrono>
#include <utility>
#include <vector>

#include "cluster/answer.h"
#include "cluster/messages.h"
#include "experiments/privacy/audit_order.h"
#include "worker/audit/audit_run.h"

namespace retort::worker::audit {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::string> ReportOf(const Result<std::vector<privacy::AuditFinding>>& findings,
                             const std::string& trial) {
  if (!findings.ok()) return findings.status();
  return privacy::EncodeAuditReport({trial, "", *findings});
}

}  // namespace

Status ServeAudit(cluster::SocketLink& link, const std::string& text, storage::Env& env, Devices& devices) {
  const Result<privacy::AuditOrder> order = privacy::DecodeAuditOrder(text);
  if (!order.ok()) return cluster::SendAnswer(link, order.status());
  std::string phase;
  Clock::time_point said = Clock::now();
  const AuditProgress progress = [&](const std::string& now, std::int64_t step, std::int64_t steps) {
    if (now == phase && Clock::now() - said < std::chrono::seconds(1)) return;
    phase = now;
    said = Clock::now();
    static_cast<void>(
        link.Send({{}, {}, 0, cluster::Progress{step, steps, now, {}}}));  // a lost word costs nothing
  };
  const auto open = [&devices](const std::string& name) { return devices.Open(name); };
  return cluster::SendAnswer(link, ReportOf(RunAudits(*order, env, open, progress), order->trial));
}

}  // namespace retort::worker::audit
