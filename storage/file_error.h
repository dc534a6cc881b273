// System errors as sentences with a remedy.
#pragma once

#include <string>

#include "experiments/spec/status.h"

namespace retort::storage {

// `error` is an errno value; `doing` a verb phrase ("write", "create"). Code: environment.
// A full disk, a read-only file system and a missing permission each have a message of their own.
[[nodiscard]] Status FileError(int error, const std::string& doing, const std::string& path);

}  // namespace retort::storage
