// The lock of a results folder: whoever holds it may write there.
#pragma once

#include <memory>
#include <string>

#include "experiments/base/status.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

// Takes the lock; creates the folder where absent. Waits a moment in case a reader only tests the lock. Error:
// environment, naming the process and host that hold it, or why the folder cannot be written.
[[nodiscard]] Result<std::unique_ptr<storage::FileLock>> LockFolder(storage::Env& env, const std::string& results);

// Whether another process holds it. A lock that may not be opened (of another user, or in a read-only folder) is held
// where the kernel of this host knows of a holder; holders on other hosts cannot be seen.
[[nodiscard]] bool IsFolderLocked(storage::Env& env, const std::string& results);

}  // namespace retort::orchestrator
