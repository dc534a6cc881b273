#include "orchestrator/cli/commands/commands.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "orchestrator/cli/commands/archive_commands.h"

namespace retort::orchestrator::cli {

int Dispatch(const Invocation& call) {
  using Command = int (*)(const Invocation&);
  constexpr std::array<std::pair<std::string_view, Command>, 33> kCommands = {{{"plan", ExecutePlan},
                                                                               {"run", ExecuteRun},
                                                                               {"table", ExecuteTable},
                                                                               {"compare", ExecuteCompare},
                                                                               {"plot", ExecutePlot},
                                                                               {"report", ExecuteReport},
                                                                               {"serve", ExecuteServe},
                                                                               {"status", ExecuteStatus},
                                                                               {"explain", ExecuteExplain},
                                                                               {"list", ExecuteList},
                                                                               {"show", ExecuteShow},
                                                                               {"retry", ExecuteRetry},
                                                                               {"cancel", ExecuteCancel},
                                                                               {"archive", ExecuteArchive},
                                                                               {"import", ExecuteImport},
                                                                               {"bundle", ExecuteBundle},
                                                                               {"verify", ExecuteVerify},
                                                                               {"repair", ExecuteRepair},
                                                                               {"chaos", ExecuteChaos},
                                                                               {"audit", ExecuteAudit},
                                                                               {"export", ExecuteExport},
                                                                               {"sample", ExecuteSample},
                                                                               {"model check", ExecuteModel},
                                                                               {"data check", ExecuteDataCheck},
                                                                               {"data clients", ExecuteDataClients},
                                                                               {"epsilon", ExecuteEpsilon},
                                                                               {"calibrate", ExecuteCalibrate},
                                                                               {"doctor", ExecuteDoctor},
                                                                               {"metrics", ExecuteMetrics},
                                                                               {"schema", ExecuteSchema},
                                                                               {"completion", ExecuteCompletion},
                                                                               {"man", ExecuteMan},
                                                                               {"version", ExecuteVersion}}};
  // `epsilon votes` is one command for all mechanisms, `data check` and `data clients` are two.
  const std::string words = call.line.command + " ";
  for (const auto& [name, command] : kCommands)
    if (words.starts_with(std::string(name) + " "))
      return name == "import" ? command(call) : RunOnArchive(call, command);
  return call.console.Fail(UsageError("there is no command `" + call.line.command + "`."));
}

}  // namespace retort::orchestrator::cli
