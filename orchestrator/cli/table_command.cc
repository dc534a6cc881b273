#include <optional>
#include <vector>

#include "orchestrator/audit_store.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/load_sweep.h"
#include "orchestrator/cli/results_location.h"
#include "orchestrator/cli/table_format.h"
#include "orchestrator/cli/table_statements.h"
#include "orchestrator/refuted_claims.h"

namespace retort::orchestrator::cli {
namespace {

Result<std::vector<TableSpec>> ChosenTables(const SweepPlan& plan, const std::string& name) {
  if (name.empty()) return plan.tables.empty() ? std::vector<TableSpec>{DefaultTable(plan)} : plan.tables;
  std::vector<std::string> names;
  for (const TableSpec& table : plan.tables) {
    if (table.name == name) return std::vector<TableSpec>{table};
    names.push_back(table.name);
  }
  std::string message = plan.file + " has no [table." + name + "]";
  for (std::size_t i = 0; i < names.size(); ++i) message += (i == 0 ? "; it has " : ", ") + names[i];
  return UsageError(message + ".");
}

Result<ResultsView> StoredOrEmpty(storage::Env& env, const std::string& results) {
  if (env.Exists(results + "/journal.log")) return ReadResults(env, results);
  ResultsView empty;
  empty.directory = results;
  return empty;
}

// What audits found stands among the claims of its trial. A damaged report is left to `retort show` and `verify`.
void AddAuditedClaims(storage::Env& env, ResultsView& view) {
  for (TrialView& trial : view.trials) {
    const Result<std::optional<privacy::AuditReport>> audit = ReadAudit(env, view.directory, trial);
    if (!audit.ok() || !audit->has_value()) continue;
    const std::vector<privacy::Claim> claims = AuditedClaims(**audit);
    trial.row->claims.insert(trial.row->claims.end(), claims.begin(), claims.end());
  }
}

std::string Formatted(const std::vector<ResultTable>& tables, const std::string& format, std::size_t width) {
  if (format == "json") return TablesAsJson(tables);
  std::string out;
  for (const ResultTable& table : tables) {
    const bool first = out.empty();
    std::string text = format == "markdown" ? TableAsMarkdown(table)
                       : format == "latex"  ? TableAsLatex(table)
                       : format == "csv"    ? TableAsCsv(table)
                                            : TableAsText(table, width);
    out += (first ? "" : "\n") + text;
  }
  return out;
}

}  // namespace

int TableCommand(const Invocation& call) {
  const CommandLine& line = call.line;
  const LoadedSweep loaded = LoadWithData(call.env, {line.sweep, line.overrides, line.global.profile});
  if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
  const Result<std::vector<TableSpec>> specs = ChosenTables(*loaded.plan, line.table);
  if (!specs.ok()) return call.console.Fail(specs.status());
  const std::string results = ResultsFor(line.global.results, loaded.plan->name);
  Result<ResultsView> view = StoredOrEmpty(call.env, results);
  if (!view.ok()) return call.console.Fail(view.status());
  WithdrawRefuted(call.env, *view);
  AddAuditedClaims(call.env, *view);
  if (view->trials.empty())
    call.console.Message("nothing is stored in " + results + " yet; `retort run " + line.sweep +
                         "` fills the table.");
  std::vector<ResultTable> tables;
  for (const TableSpec& spec : *specs) {
    tables.push_back(BuildTable(*loaded.plan, spec, *view, PublishedTable(spec.published)));
    if (line.statements) tables.back().statements = StatementsOf(tables.back(), *view);
  }
  const std::string format = line.global.json ? "json" : line.format;
  call.console.Data(Formatted(tables, format, call.console.options().width));
  return 0;
}

}  // namespace retort::orchestrator::cli
