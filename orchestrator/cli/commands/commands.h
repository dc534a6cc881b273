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
[[nodiscard]] std::vector<std::string> ListExportedParts();
[[nodiscard]] std::vector<std::string> ExportFormats();

// Each prints its result and returns the exit code of the process.
[[nodiscard]] int ExecutePlan(const Invocation& call);
[[nodiscard]] int ExecuteRun(const Invocation& call);
[[nodiscard]] int ExecuteStatus(const Invocation& call);
[[nodiscard]] int ExecuteExplain(const Invocation& call);
[[nodiscard]] int ExecuteList(const Invocation& call);
[[nodiscard]] int ExecuteShow(const Invocation& call);
[[nodiscard]] int ExecuteRetry(const Invocation& call);
[[nodiscard]] int ExecuteCancel(const Invocation& call);
[[nodiscard]] int ExecuteTable(const Invocation& call);
[[nodiscard]] int ExecuteCompare(const Invocation& call);
[[nodiscard]] int ExecutePlot(const Invocation& call);
[[nodiscard]] int ExecuteReport(const Invocation& call);
[[nodiscard]] int ExecuteServe(const Invocation& call);
[[nodiscard]] int ExecuteArchive(const Invocation& call);
[[nodiscard]] int ExecuteImport(const Invocation& call);
[[nodiscard]] int ExecuteBundle(const Invocation& call);
[[nodiscard]] int ExecuteVerify(const Invocation& call);
[[nodiscard]] int ExecuteRepair(const Invocation& call);
[[nodiscard]] int ExecuteChaos(const Invocation& call);
[[nodiscard]] int ExecuteAudit(const Invocation& call);
[[nodiscard]] int ExecuteExport(const Invocation& call);
[[nodiscard]] int ExecuteSample(const Invocation& call);
[[nodiscard]] int ExecuteModel(const Invocation& call);
[[nodiscard]] int ExecuteDataCheck(const Invocation& call);
[[nodiscard]] int ExecuteDataClients(const Invocation& call);
[[nodiscard]] int ExecuteEpsilon(const Invocation& call);
[[nodiscard]] int ExecuteCalibrate(const Invocation& call);
[[nodiscard]] int ExecuteDoctor(const Invocation& call);
[[nodiscard]] int ExecuteMetrics(const Invocation& call);
[[nodiscard]] int ExecuteSchema(const Invocation& call);
[[nodiscard]] int ExecuteCompletion(const Invocation& call);
[[nodiscard]] int ExecuteMan(const Invocation& call);
[[nodiscard]] int ExecuteVersion(const Invocation& call);

// Runs the command that `call.line` names.
[[nodiscard]] int Dispatch(const Invocation& call);

}  // namespace retort::orchestrator::cli
