// The right to write to a results folder.
#pragma once

#include <memory>
#include <string>

#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::orchestrator {

// Creates the folder when absent. Waits a moment for a reader that only looked whether it is held. Error:
// environment, naming the process and host that hold it, or why the folder cannot be written.
[[nodiscard]] Result<std::unique_ptr<storage::FileLock>> LockFolder(storage::Env& env,
                                                                    const std::string& results);

// Whether another process holds it. A lock that may not be opened (of another user, or in a read-only folder) is held where
// the kernel of this host knows of a holder; of other hosts nobody could tell.
[[nodiscard]] bool FolderIsLocked(storage::Env& env, const std::string& results);

}  // namespace retort::orchestrator
