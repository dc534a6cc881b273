#include "orchestrator/cli/doctor_options.h"

#include <CLI/CLI.hpp>

namespace retort::orchestrator::cli {

void AddDoctor(CLI::App& command, CommandLine& line, std::string& sweep, std::vector<std::string>& rest) {
  command.add_option("SWEEP", sweep, "Also whether what this sweep file needs is there");
  command.add_option("KEY=VALUE", rest, "KEY=VALUE overrides, as of `run`");
  command.add_option("--slots", line.slots, "Workers at once that there is to be room for (default 1)")
      ->check(CLI::Range(1, 4096));
}

}  // namespace retort::orchestrator::cli
