#include "orchestrator/cli/commands/commands.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "orchestrator/cli/commands/archive_commands.h"

namespace retort::orchestrator::cli {

int Dispatch(const Invocation& call) {
  using Command = int (*)(const Invocation&);
  constexpr std::array<std::pair<std::string_view, Command>, 33> kCommands = {{{"plan", PlanCommand},
                                                                               {"run", RunCommand},
                                                                               {"table", TableCommand},
                                                                               {"compare", CompareCommand},
                                                                               {"plot", PlotCommand},
                                                                               {"report", ReportCommand},
                                                                               {"serve", ServeCommand},
                                                                               {"status", StatusCommand},
                                                                               {"explain", ExplainCommand},
                                                                               {"list", ListCommand},
                                                                               {"show", ShowCommand},
                                                                               {"retry", RetryCommand},
                                                                               {"cancel", CancelCommand},
                                                                               {"archive", ArchiveCommand},
                                                                               {"import", ImportCommand},
                                                                               {"bundle", BundleCommand},
                                                                               {"verify", VerifyCommand},
                                                                               {"repair", RepairCommand},
                                                                               {"chaos", ChaosCommand},
                                                                               {"audit", AuditCommand},
                                                                               {"export", ExportCommand},
                                                                               {"sample", SampleCommand},
                                                                               {"model check", ModelCommand},
                                                                               {"data check", DataCheckCommand},
                                                                               {"data clients", DataClientsCommand},
                                                                               {"epsilon", EpsilonCommand},
                                                                               {"calibrate", CalibrateCommand},
                                                                               {"doctor", DoctorCommand},
                                                                               {"metrics", MetricsCommand},
                                                                               {"schema", SchemaCommand},
                                                                               {"completion", CompletionCommand},
                                                                               {"man", ManCommand},
                                                                               {"version", VersionCommand}}};
  // `epsilon votes` is one command for all mechanisms, `data check` and `data clients` are two.
  const std::string words = call.line.command + " ";
  for (const auto& [name, command] : kCommands)
    if (words.starts_with(std::string(name) + " "))
      return name == "import" ? command(call) : RunOnArchive(call, command);
  return call.console.Fail(UsageError("there is no command `" + call.line.command + "`."));
}

}  // namespace retort::orchestrator::cli
