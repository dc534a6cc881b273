// Commands that are printed to be pasted: every word as a shell reads it again. Pure.
#pragma once

#include <string>

#include "experiments/spec/trial_spec.h"
#include "orchestrator/cli/command_line.h"

namespace retort::orchestrator::cli {

// `words`, which a shell reads as they are, about the results folder: "retort list --results 'r 1'".
[[nodiscard]] std::string AtResults(const std::string& words, const std::string& directory);

// What `command` ("show") does with a trial, without its results folder: "retort show sleep-s1-0123abcd".
[[nodiscard]] std::string TrialCommand(const std::string& command, const TrialSpec& spec);

// What goes on with the sweep of a results folder: `retort run` of the resolved sweep file in it.
[[nodiscard]] std::string RunAgain(const std::string& directory);

// `command` ("table") of the sweep file on the line, with the overrides, the profile and the results folder that stand
// there.
[[nodiscard]] std::string SweepCommand(const std::string& command, const CommandLine& line);

}  // namespace retort::orchestrator::cli
