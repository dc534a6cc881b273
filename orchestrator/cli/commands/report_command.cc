#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "orchestrator/cli/commands/archive_commands.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/report_page.h"
#include "orchestrator/cli/render/table_export.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/stored_plan.h"
#include "orchestrator/results/tables/settings_notes.h"
#include "orchestrator/results/trial_names.h"
#include "storage/files/file_modes.h"

namespace retort::orchestrator::cli {

// retort report
namespace {

constexpr std::uint64_t kMaxReadBytes = std::uint64_t{1} << 30;  // of attempts' files; some seconds at most
constexpr OutputRule kReplaced{.mark = kPageMark, .kind = "page", .can_force = false};

std::vector<ResultTable> BuildTables(storage::Env& env, const SweepPlan& plan, ResultsView& view) {
  std::vector<TableSpec> specs = plan.tables;
  if (specs.empty()) specs.push_back(DefaultTable(plan));
  std::vector<ResultTable> tables;
  for (const TableSpec& spec : specs) {
    AddMetric(env, spec.metric, view);
    tables.push_back(BuildTable(plan, spec, view, FindPublishedTable(spec.published)));
    AddSyntheticNotes(env, view, tables.back());
  }
  return tables;
}

Result<std::optional<privacy::AuditReport>> AuditOf(const StoredAudits& audits, const TrialView& trial) {
  if (!trial.row || !trial.audit_unknown.empty()) return std::optional<privacy::AuditReport>();  // said once
  return audits.Of(trial.folder, *trial.row);
}

// Reads what the page is made of; the page says what could not be read of it.
ReportPage MakePage(const Invocation& call, ResultsView& view, const std::string& out) {
  storage::Env& env = call.env;
  std::vector<std::string> troubles;
  const Result<std::string> toml = env.ReadFile(view.directory + "/sweep.toml");
  StoredPlan stored = RebuildPlan(view, toml.ok() ? *toml : "");
  if (!toml.ok()) stored.trouble = toml.status().message();
  if (!stored.trouble.empty()) troubles.push_back(stored.trouble);
  if (!call.line.global.profile.empty()) stored.plan.profile = call.line.global.profile;
  for (const FigureSpec& figure : stored.plan.figures)
    if (figure.kind == FigureKind::line || figure.kind == FigureKind::bar) AddMetric(env, figure.y, view);
  const RootCharges root = ReadRoot(env, view);
  const SweepStatus status = ComputeStatus(view, {}, 0, &root);
  const std::vector<ResultTable> tables = BuildTables(env, stored.plan, view);
  AttemptReader attempts(env, view, kMaxReadBytes);
  const StoredAudits audits(env, view.directory);
  for (const TrialView& trial : view.trials)
    if (!trial.audit_unknown.empty())
      troubles.push_back(FormatTrialName(trial.spec) + " is shown without claims: " + trial.audit_unknown);
  const std::string command =
      "retort report --results " + QuoteForShell(view.directory) + " --out " + QuoteForShell(out);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return MakeReport(
      {.view = view,
       .plan = stored.plan,
       .status = status,
       .tables = tables,
       .attempts = attempts,
       .audit = [&](const TrialView& trial) { return AuditOf(audits, trial); },
       .pictures = [&](const DataSpec& data, std::int64_t most) { return ReadSplitPictures(env, data, most); },
       .sweep_toml = toml.ok() ? *toml : "",
       .command = command,
       .generated = std::chrono::duration<double>(now).count(),
       .troubles = std::move(troubles)});
}

std::string MakeJson(const ResultsView& view, const ReportPage& page, const std::string& out) {
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = view.directory;
  document["out"] = out;
  document["bytes"] = page.html.size();
  document["trials"] = view.trials.size();
  document["detailed"] = page.detailed;
  document["left_out"] = page.left_out;
  document["unreadable"] = page.troubles;
  return DocumentText(document);
}

}  // namespace

void AddReport(CLI::App& app, CommandLine& line) {
  CLI::App* report = AddCommand(
      app, "report", "One HTML page of a results folder that needs no network: tables, figures, trials, privacy");
  AddFrom(*report, line);
  report
      ->add_option("--out", line.out,
                   "The page to write, - is stdout; a page that is there is replaced (default report.html in the "
                   "results folder)")
      ->type_name("FILE");
}

int ReportCommand(const Invocation& call) {
  const Result<FoundResults> found = FindResults(call.env, call.line.global.results);
  if (!found.ok()) return call.console.Fail(found.status());
  if (found->chosen) call.console.Message("results: " + found->directory);
  const std::string out = call.line.out.empty() ? found->directory + "/report.html" : call.line.out;
  const bool to_stdout = out == "-" || out == "/dev/stdout";
  if (to_stdout && call.line.global.json)
    return call.console.Fail(UsageError("--json and the page would both go to stdout; name a file with --out."));
  if (const Status may = to_stdout ? Status() : CheckOutput(call.env, out, kReplaced); !may.ok())
    return call.console.Fail(may);
  Result<ResultsView> view = ReadShownResults(call.env, found->directory, Plans::newest);
  if (!view.ok()) return call.console.Fail(view.status());
  const ReportPage page = MakePage(call, *view, out);
  const storage::UmaskScope modes(call.line.out.empty() ? ChooseUmask(call, found->directory) : call.umask);
  if (to_stdout) {
    call.console.Data(page.html);
  } else if (const Status written = WriteOutput(call.env, out, page.html, kReplaced); !written.ok()) {
    return call.console.Fail(written);
  }
  for (const std::string& trouble : page.troubles) call.console.Message("warning: " + trouble);
  if (!to_stdout) call.console.Data(call.line.global.json ? MakeJson(*view, page, out) : out + "\n");
  return page.troubles.empty() ? 0 : 1;
}

}  // namespace retort::orchestrator::cli
