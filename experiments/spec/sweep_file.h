// The bytes of a sweep file.
#pragma once

#include <string>

#include "experiments/spec/status.h"

namespace retort {

// Never more than 16 MiB, which no sweep file has, so that a device or a pipe that does not end is no trap. Error: usage,
// for a folder, what cannot be read, and what is larger.
[[nodiscard]] Result<std::string> ReadSweepFile(const std::string& path);

}  // namespace retort
