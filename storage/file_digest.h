// What names the bytes of a file.
#pragma once

#include <string>

#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::storage {

// SHA-256, 64 hex digits, read in pieces. Errors: environment, naming the path, when it cannot be opened or is no
// plain file; damage when it shrinks while it is read.
[[nodiscard]] Result<std::string> FileDigest(Env& env, const std::string& path);
// The same of a file that is open.
[[nodiscard]] Result<std::string> FileDigest(const InputFile& file);

}  // namespace retort::storage
