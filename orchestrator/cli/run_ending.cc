#include "orchestrator/cli/run_ending.h"

#include <fmt/format.h>

#include "experiments/spec/status.h"
#include "orchestrator/cli/printed_command.h"

namespace retort::orchestrator::cli {
namespace {

constexpr int kSomeFailed = 1;
constexpr int kEndedAtOnce = 130;

}  // namespace

std::string NextAfterRun(const RunEnding& ending) {
  const std::string again = "next: run the same command again; it goes on ";
  if (ending.code == 0) return "next: " + ending.table;
  if (ending.code == kSomeFailed && !ending.all_ended)
    return fmt::format("next: raise [sweep] quota in {}, and run the same command again", ending.sweep);
  if (ending.code == kSomeFailed)
    return fmt::format("next: `{}` names the causes; then `{}`", AtResults("retort status", ending.results),
                       AtResults("retort retry --failed", ending.results));
  if (ending.code == ExitCode(StatusCode::environment))
    return fmt::format("next: make room on the disk of {}, and run the same command again: it tries again what the "
                       "disk had ended",
                       ending.results);
  return again + (ending.code == kEndedAtOnce ? "from the last checkpoints" : "where it stopped");
}

}  // namespace retort::orchestrator::cli
