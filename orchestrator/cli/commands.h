// The commands. Each prints its result and returns the process exit code.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "orchestrator/cli/command_line.h"
#include "orchestrator/cli/console.h"
#include "storage/env.h"

namespace retort::orchestrator::cli {

// What every command works with; owned by main.
struct Invocation {
  const CommandLine& line;
  const std::vector<std::string>& environment;  // every NAME=value
  const Console& console;
  storage::Env& env;
  mode_t umask = 077;  // that the user has set; what this process creates need not follow it (file_modes.h)
};

[[nodiscard]] int PlanCommand(const Invocation& call);
[[nodiscard]] int RunCommand(const Invocation& call);
[[nodiscard]] int StatusCommand(const Invocation& call);
[[nodiscard]] int ExplainCommand(const Invocation& call);
[[nodiscard]] int ListCommand(const Invocation& call);
[[nodiscard]] int ShowCommand(const Invocation& call);
[[nodiscard]] int RetryCommand(const Invocation& call);
[[nodiscard]] int CancelCommand(const Invocation& call);
[[nodiscard]] int TableCommand(const Invocation& call);
[[nodiscard]] int PlotCommand(const Invocation& call);
[[nodiscard]] int ReportCommand(const Invocation& call);
[[nodiscard]] int VerifyCommand(const Invocation& call);
[[nodiscard]] int RepairCommand(const Invocation& call);
[[nodiscard]] int ChaosCommand(const Invocation& call);
[[nodiscard]] int AuditCommand(const Invocation& call);
[[nodiscard]] int ExportCommand(const Invocation& call);
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
