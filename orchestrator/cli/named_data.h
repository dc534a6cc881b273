// The data set that a command line names: a reader, a path and KEY=VALUE words.
#pragma once

#include <variant>

#include "experiments/spec/diagnostic.h"
#include "experiments/spec/trial_spec.h"
#include "orchestrator/cli/command_line.h"

namespace retort::orchestrator::cli {

// line.reader at line.data_path with target, version and classes of line.overrides; no split. Nothing is opened. Else
// what is wrong, with the choices.
[[nodiscard]] std::variant<DataSpec, Diagnostic> NamedData(const CommandLine& line);

}  // namespace retort::orchestrator::cli
