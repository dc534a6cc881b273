// Who may read what a command adds to a results folder.
#pragma once

#include <sys/types.h>

#include <string>

#include "orchestrator/cli/commands.h"

namespace retort::orchestrator::cli {

// The umask for files that a command adds to `results`: the user's own where others may read the journal, which a run makes
// as it was told (`run --share`); else one that keeps them private.
[[nodiscard]] mode_t ModesOf(const Invocation& call, const std::string& results);

}  // namespace retort::orchestrator::cli
