#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/commands/archive_commands.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/run_command.h"
#include "orchestrator/cli/render/table_export.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/stored_plan.h"
#include "orchestrator/results/tables/settings_notes.h"
#include "orchestrator/results/tables/table_lines.h"
#include "orchestrator/results/tables/table_trials.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

Result<std::vector<TableSpec>> ChosenTables(const SweepPlan& plan, const std::string& name) {
  if (name.empty()) return plan.tables.empty() ? std::vector<TableSpec>{MakeDefaultTable(plan)} : plan.tables;
  std::vector<std::string> names;
  for (const TableSpec& table : plan.tables) {
    if (table.name == name) return std::vector<TableSpec>{table};
    names.push_back(table.name);
  }
  names = SortByNearness(name, names);
  std::string message = plan.file + " has no [table." + name + "]";
  for (std::size_t i = 0; i < names.size(); ++i) message += (i == 0 ? "; it has " : ", ") + names[i];
  return UsageError(message + ".", names);
}

std::string Formatted(const std::vector<ResultTable>& tables, const std::string& format,
                      const ConsoleOptions& console) {
  if (format == "json") return FormatTablesJson(tables);
  std::string out;
  for (const ResultTable& table : tables) {
    const bool first = out.empty();
    std::string text = format == "markdown" ? FormatTableMarkdown(table)
                       : format == "latex"  ? FormatTableLatex(table)
                       : format == "csv"    ? FormatTableCsv(table)
                                            : FormatTableText(table, console.width, console.color_out);
    out += (first ? "" : "\n") + text;
  }
  return out;
}

struct Loaded {
  SweepPlan plan;
  std::vector<TableSpec> specs;
  std::string results;
};

// A value is the exit code of what went wrong.
std::variant<Loaded, int> Load(const Invocation& call, bool runs) {
  const CommandLine& line = call.line;
  LoadedSweep loaded = LoadWithData(call.env, {line.sweep, line.overrides, line.global.profile, runs, !runs,
                                               line.global.results, ReadArchivedInputs(call)});
  if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
  for (const Diagnostic& absent : loaded.absent) call.console.Warn(absent);
  Result<std::vector<TableSpec>> specs = ChosenTables(*loaded.plan, line.table.name);
  if (!specs.ok()) return call.console.Fail(specs.status());
  const std::string results = FindResultsPath(line.global.results, loaded.plan->name);
  return Loaded{*std::move(loaded.plan), *std::move(specs), results};
}

// Whether claims are left out since nobody can say what audits found: what is printed is less than what is stored.
bool AnyUnknown(const SweepPlan& plan, const ResultsView& view) {
  std::set<TrialId> planned;
  for (const TrialSpec& spec : plan.trials) planned.insert(spec.id);
  return std::any_of(view.trials.begin(), view.trials.end(), [&](const TrialView& trial) {
    return planned.contains(trial.spec.id) && (!trial.audit_unknown.empty() || trial.unknown_teacher_audit);
  });
}

int Print(const Invocation& call, const Loaded& asked) {
  const CommandLine& line = call.line;
  Result<ResultsView> view = ReadShownResults(call.env, asked.results, Plans::every);
  if (!view.ok()) return call.console.Fail(view.status());
  const Loaded loaded{AdoptReleased(asked.plan, *view), asked.specs, asked.results};
  if (const Status belongs = CheckBelongs(call, loaded.plan, *view); !belongs.ok()) return call.console.Fail(belongs);
  if (view->trials.empty())
    call.console.Message("nothing is stored in " + loaded.results + " yet; `" + FormatSweepCommand("run", line) +
                         "` fills the table.");
  const std::vector<std::string> copies = ListCopyNotes(call.env, *view);
  std::vector<ResultTable> tables;
  for (const TableSpec& spec : loaded.specs) {
    AddMetric(call.env, spec.metric, *view);
    tables.push_back(BuildTable(loaded.plan, spec, *view, FindPublishedTable(spec.published)));
    AddSyntheticNotes(call.env, *view, tables.back());
    tables.back().warnings.insert(tables.back().warnings.end(), copies.begin(), copies.end());
    if (line.table.statements) tables.back().statements = MakeStatements(tables.back(), *view);
  }
  const std::string format = line.global.json ? "json" : line.table.format;
  const std::string text = Formatted(tables, format, call.console.options());
  format == "text" ? call.console.Text(text) : call.console.Data(text);
  return AnyUnknown(loaded.plan, *view) ? 1 : 0;
}

// Runs what the tables lack. Returns the exit code. Error: of RunSweep, or a results folder that cannot be read.
Result<int> RunMissing(const Invocation& call, const Loaded& loaded, const RunOptions& options) {
  RETORT_ASSIGN_OR_RETURN(const ResultsView view, ReadStoredResults(call.env, loaded.results, Plans::every));
  const Completion completion = PlanCompletion(loaded.plan, loaded.specs, view);
  if (completion.failed > 0)
    call.console.Message(fmt::format("{} of the table ended without a result: `{}` opens {} again",
                                     FormatTrialCount(static_cast<std::int64_t>(completion.failed)),
                                     AddResultsOption("retort retry --failed", loaded.results),
                                     completion.failed == 1 ? "it" : "them"));
  if (completion.missing == 0) {
    call.console.Message("nothing is left to run for the table");
    return completion.failed > 0 ? 1 : 0;
  }
  return RunSweep(completion.plan, options);
}

int CompleteAndPrint(const Invocation& call) {
  RunOptions options = ReadRunOptions(call);
  if (!IsWorldRankZero(call.environment)) {
    const Result<int> agent = RunAgentRank(options);
    return agent.ok() ? *agent : call.console.Fail(agent.status());
  }
  if (const std::optional<int> code = LimitToAllocation(call, options)) return EndRun(options, *code);
  std::variant<Loaded, int> loaded = Load(call, true);
  if (const int* code = std::get_if<int>(&loaded)) return EndRun(options, *code);
  Loaded& sweep = std::get<Loaded>(loaded);
  if (sweep.plan.select)
    return EndRun(options, call.console.Fail(UsageError("table --complete: a selection runs as a whole; `" +
                                                        FormatSweepCommand("run", call.line) + "` runs it")));
  if (sweep.plan.search && sweep.plan.search->IsAdaptive())
    return EndRun(options, call.console.Fail(UsageError("table --complete: a search by " + sweep.plan.search->score +
                                                        (sweep.plan.search->IsAsynchronous()
                                                             ? " decides while it runs what runs next; `"
                                                             : " runs round by round; `") +
                                                        FormatSweepCommand("run", call.line) + "` runs it")));
  options.results = sweep.results;
  AddBudgetWarnings(call.env, sweep.results, sweep.plan);
  for (const Diagnostic& warning : sweep.plan.warnings) call.console.Warn(warning);
  const Result<int> ran = RunMissing(call, sweep, options);
  if (!ran.ok()) return EndRun(options, call.console.Fail(ran.status()));
  const int printed = Print(call, sweep);
  return EndRun(options, *ran != 0 ? *ran : printed);
}

}  // namespace

void AddTable(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* table = AddCommand(app, "table", "Print the tables: published beside measured beside proven");
  AddSweep(*table, words, "TABLE", "Name of one table, and KEY=VALUE overrides as given to `run`");
  table->add_option("--format", line.table.format, "How it is printed (default text)")
      ->check(CLI::IsMember({"text", "markdown", "csv", "latex", "json"}));
  table->add_flag("--statements", line.table.statements,
                  "Below the table, the privacy of each row in a paragraph (text, markdown, latex; json: in notes)");
  table->add_flag("--complete", line.table.complete,
                  "First run the cells that are missing and the teachers that they need, as `run` would");
  AddFrom(*table, line);
  AddRunOptions(*table, line, words);
}

int ExecuteTable(const Invocation& call) {
  if (call.line.table.complete) return CompleteAndPrint(call);
  const std::variant<Loaded, int> loaded = Load(call, false);
  if (const int* code = std::get_if<int>(&loaded)) return *code;
  return Print(call, std::get<Loaded>(loaded));
}

}  // namespace retort::orchestrator::cli
