// What to type after a run. Pure.
#pragma once

#include <string>

namespace retort::orchestrator::cli {

struct RunEnding {
  int code = 0;           // that RunSweep returned
  bool all_ended = true;  // every trial is final; false beside code 1: the quota is spent
  std::string sweep;      // the sweep file
  std::string results;    // the results folder
  std::string table;      // the command that prints the sweep's table
};

// One line, which begins with "next: ".
[[nodiscard]] std::string NextAfterRun(const RunEnding& ending);

}  // namespace retort::orchestrator::cli
