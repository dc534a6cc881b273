#include "orchestrator/cli/report_options.h"

#include <CLI/CLI.hpp>

namespace retort::orchestrator::cli {

void AddReport(CLI::App& command, CommandLine& line) {
  command
      .add_option(
          "--out", line.out,
          "The page to write, - is stdout; a page that is there is replaced (default report.html in the results folder)")
      ->type_name("FILE");
}

}  // namespace retort::orchestrator::cli
