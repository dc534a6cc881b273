#include "orchestrator/cli/shown_results.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "orchestrator/audit_store.h"
#include "orchestrator/refuted_claims.h"
#include "storage/presence.h"

namespace retort::orchestrator::cli {
namespace {

using Values = std::vector<std::pair<std::string, double>>;

std::optional<double> Find(const Values& values, std::string_view name) {
  for (const auto& [known, value] : values)
    if (known == name) return value;
  return std::nullopt;
}

// What cannot be read is TrialView::audit_unknown.
std::optional<privacy::AuditReport> AuditOf(const StoredAudits& audits, const TrialView& trial) {
  if (!trial.row) return std::nullopt;
  const Result<std::optional<privacy::AuditReport>> audit = audits.Of(trial.folder, *trial.row);
  return audit.ok() ? *audit : std::nullopt;
}

std::optional<double> AuditFigure(const privacy::AuditReport& report, std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  for (const privacy::AuditFinding& finding : report.findings) {
    if (!finding.ran || AuditKindName(finding.kind) != name.substr(0, dot)) continue;
    if (const auto value = Find(finding.figures, name.substr(dot + 1))) return value;
  }
  return std::nullopt;
}

}  // namespace

Result<ResultsView> ReadStoredResults(storage::Env& env, const std::string& results, Plans plans) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, results + "/journal.log"));
  if (there) return ReadResults(env, results, plans);
  ResultsView empty;
  empty.directory = results;
  return empty;
}

Result<ResultsView> ReadShownResults(storage::Env& env, const std::string& results, Plans plans) {
  RETORT_ASSIGN_OR_RETURN(ResultsView view, ReadStoredResults(env, results, plans));
  WithdrawRefuted(env, view);
  const StoredAudits audits(env, view.directory);
  for (TrialView& trial : view.trials) {
    const std::optional<privacy::AuditReport> audit = AuditOf(audits, trial);
    if (!audit) continue;
    const std::vector<privacy::Claim> claims = AuditedClaims(*audit);
    trial.row->claims.insert(trial.row->claims.end(), claims.begin(), claims.end());
  }
  return view;
}

void AddMetric(storage::Env& env, const std::string& name, ResultsView& view) {
  constexpr std::string_view kAudit = "audit.";
  const StoredAudits audits(env, view.directory);
  for (TrialView& trial : view.trials) {
    if (!trial.row || Find(trial.row->metrics, name)) continue;
    std::optional<double> value = Find(trial.row->timings, name);
    if (!value && name.starts_with(kAudit))
      if (const auto audit = AuditOf(audits, trial)) value = AuditFigure(*audit, name.substr(kAudit.size()));
    if (value) trial.row->metrics.emplace_back(name, *value);
  }
}

}  // namespace retort::orchestrator::cli
