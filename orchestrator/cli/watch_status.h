// `retort status --watch`.
#pragma once

#include "orchestrator/cli/commands.h"

namespace retort::orchestrator::cli {

// Looks at the results every two seconds until the sweep has ended, and waits for a folder that is not there yet. On a
// terminal it redraws a block of lines; elsewhere it prints the status when it changed. Returns the exit code: 0 when
// the sweep has ended, 130 when a signal ended the watching, else that of what cannot be read.
[[nodiscard]] int WatchStatus(const Invocation& call);

}  // namespace retort::orchestrator::cli
