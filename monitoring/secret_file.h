// Files that nobody else may read.
#pragma once

#include <string>
#include <string_view>

#include "experiments/spec/status.h"

namespace retort::monitoring {

// All of a file of at most 1 MiB; `what` it holds, "metrics credentials". Error: environment, when it cannot be read, is
// empty or larger, or other users can read or write it.
[[nodiscard]] Result<std::string> ReadSecretFile(const std::string& path, std::string_view what);

}  // namespace retort::monitoring
