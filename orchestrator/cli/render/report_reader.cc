#include "orchestrator/cli/render/report_reader.h"

#include <utility>

#include "orchestrator/cli/render/table_export.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/stored_plan.h"
#include "orchestrator/results/tables/settings_notes.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::uint64_t kMaxReadBytes = std::uint64_t{1} << 30;  // of attempts' files; some seconds at most

std::vector<ResultTable> BuildTables(storage::Env& env, const SweepPlan& plan, ResultsView& view) {
  std::vector<TableSpec> specs = plan.tables;
  if (specs.empty()) specs.push_back(MakeDefaultTable(plan));
  std::vector<ResultTable> tables;
  for (const TableSpec& spec : specs) {
    AddMetric(env, spec.metric, view);
    tables.push_back(BuildTable(plan, spec, view, FindPublishedTable(spec.published)));
    AddSyntheticNotes(env, view, tables.back());
  }
  return tables;
}

Result<std::optional<privacy::AuditReport>> FindAudit(const StoredAudits& audits, const TrialView& trial) {
  if (!trial.row || !trial.audit_unknown.empty()) return std::optional<privacy::AuditReport>();  // said once
  return audits.Of(trial.folder, *trial.row);
}

}  // namespace

ReportPage ReadReport(storage::Env& env, ResultsView& view, const ReportRequest& request,
                      ReportPage (*make)(const ReportSources&)) {
  std::vector<std::string> troubles;
  const Result<std::string> toml = env.ReadFile(view.directory + "/sweep.toml");
  StoredPlan stored = RebuildPlan(view, toml.ok() ? *toml : "");
  if (!toml.ok()) stored.trouble = toml.status().message();
  if (!stored.trouble.empty()) troubles.push_back(stored.trouble);
  if (!request.profile.empty()) stored.plan.profile = request.profile;
  for (const FigureSpec& figure : stored.plan.figures)
    if (figure.kind == FigureKind::line || figure.kind == FigureKind::bar) AddMetric(env, figure.y, view);
  const RootCharges root = ReadRoot(env, view);
  const std::vector<ResultTable> tables = BuildTables(env, stored.plan, view);
  AttemptReader attempts(env, view, kMaxReadBytes);
  const StoredAudits audits(env, view.directory);
  for (const TrialView& trial : view.trials)
    if (!trial.audit_unknown.empty())
      troubles.push_back(FormatTrialName(trial.spec) + " is shown without claims: " + trial.audit_unknown);
  if (!request.shown.empty()) {
    view.directory = request.shown;
    stored.plan.file = request.shown + "/sweep.toml";
  }
  const SweepStatus status = ComputeStatus(view, {}, 0, &root);
  return make({.view = view,
               .plan = stored.plan,
               .status = status,
               .tables = tables,
               .attempts = attempts,
               .audit = [&](const TrialView& trial) { return FindAudit(audits, trial); },
               .pictures = [&](const DataSpec& data, std::int64_t most) { return ReadSplitImages(env, data, most); },
               .sweep_toml = toml.ok() ? *toml : "",
               .command = request.command,
               .generated = request.generated,
               .troubles = std::move(troubles)});
}

}  // namespace retort::orchestrator::cli
