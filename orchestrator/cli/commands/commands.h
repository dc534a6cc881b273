// The commands: each has its options, what it does, and its file.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "orchestrator/cli/commands/command_line.h"
#include "orchestrator/cli/commands/console.h"
#include "storage/files/env.h"

namespace retort::orchestrator::cli {

// What every command works with; owned by main.
struct Invocation {
  const CommandLine& line;
  const std::vector<std::string>& environment;  // every NAME=value
  const Console& console;
  storage::Env& env;
  mode_t umask = 077;  // that the user has set; what this process creates need not follow it (file_modes.h)
};

// Each command adds itself and its options to the parser, in the order of the help. `line` and `words` outlive parsing.
void AddPlan(CLI::App& app, CommandLine& line, RawWords& words);
void AddRun(CLI::App& app, CommandLine& line, RawWords& words);
void AddTable(CLI::App& app, CommandLine& line, RawWords& words);
void AddCompare(CLI::App& app, CommandLine& line, RawWords& words);
void AddPlot(CLI::App& app, CommandLine& line, RawWords& words);
void AddReport(CLI::App& app, CommandLine& line);
void AddServe(CLI::App& app, CommandLine& line);
void AddChaos(CLI::App& app, CommandLine& line, RawWords& words);
void AddStatus(CLI::App& app, CommandLine& line);
void AddExplain(CLI::App& app, RawWords& words);
void AddList(CLI::App& app, CommandLine& line);
void AddShow(CLI::App& app, RawWords& words);
void AddAmend(CLI::App& app, CommandLine& line);    // retry and cancel
void AddArchive(CLI::App& app, CommandLine& line);  // archive and import
void AddBundle(CLI::App& app, CommandLine& line, RawWords& words);
void AddVerify(CLI::App& app, CommandLine& line);
void AddRepair(CLI::App& app, CommandLine& line);
void AddAudit(CLI::App& app, CommandLine& line, RawWords& words);
void AddExport(CLI::App& app, CommandLine& line, RawWords& words);
void AddSample(CLI::App& app, CommandLine& line, RawWords& words);
void AddModel(CLI::App& app, CommandLine& line);
void AddData(CLI::App& app, CommandLine& line, RawWords& words);         // data check and data clients
void AddCalculators(CLI::App& app, CommandLine& line, RawWords& words);  // epsilon and calibrate
void AddDoctor(CLI::App& app, CommandLine& line, RawWords& words);
void AddMetrics(CLI::App& app, CommandLine& line);
void AddDocuments(CLI::App& app, CommandLine& line);  // schema, version, completion and man

// The numbers of a calculator into `line`, or an error for each that is none.
void ReadCalculator(const RawWords& words, CommandLine& line, std::vector<Diagnostic>& errors);
// What `retort export` takes as WHAT, and as --format of any of those.
[[nodiscard]] std::vector<std::string> ExportedParts();
[[nodiscard]] std::vector<std::string> ExportFormats();

// Each prints its result and returns the exit code of the process.
[[nodiscard]] int PlanCommand(const Invocation& call);
[[nodiscard]] int RunCommand(const Invocation& call);
[[nodiscard]] int StatusCommand(const Invocation& call);
[[nodiscard]] int ExplainCommand(const Invocation& call);
[[nodiscard]] int ListCommand(const Invocation& call);
[[nodiscard]] int ShowCommand(const Invocation& call);
[[nodiscard]] int RetryCommand(const Invocation& call);
[[nodiscard]] int CancelCommand(const Invocation& call);
[[nodiscard]] int TableCommand(const Invocation& call);
[[nodiscard]] int CompareCommand(const Invocation& call);
[[nodiscard]] int PlotCommand(const Invocation& call);
[[nodiscard]] int ReportCommand(const Invocation& call);
[[nodiscard]] int ServeCommand(const Invocation& call);
[[nodiscard]] int ArchiveCommand(const Invocation& call);
[[nodiscard]] int ImportCommand(const Invocation& call);
[[nodiscard]] int BundleCommand(const Invocation& call);
[[nodiscard]] int VerifyCommand(const Invocation& call);
[[nodiscard]] int RepairCommand(const Invocation& call);
[[nodiscard]] int ChaosCommand(const Invocation& call);
[[nodiscard]] int AuditCommand(const Invocation& call);
[[nodiscard]] int ExportCommand(const Invocation& call);
[[nodiscard]] int SampleCommand(const Invocation& call);
[[nodiscard]] int ModelCommand(const Invocation& call);
[[nodiscard]] int DataCheckCommand(const Invocation& call);
[[nodiscard]] int DataClientsCommand(const Invocation& call);
[[nodiscard]] int EpsilonCommand(const Invocation& call);
[[nodiscard]] int CalibrateCommand(const Invocation& call);
[[nodiscard]] int DoctorCommand(const Invocation& call);
[[nodiscard]] int MetricsCommand(const Invocation& call);
[[nodiscard]] int SchemaCommand(const Invocation& call);
[[nodiscard]] int CompletionCommand(const Invocation& call);
[[nodiscard]] int ManCommand(const Invocation& call);
[[nodiscard]] int VersionCommand(const Invocation& call);

// Runs the command that `call.line` names.
[[nodiscard]] int Dispatch(const Invocation& call);

}  // namespace retort::orchestrator::cli
