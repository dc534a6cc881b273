// The process environment, for ${VAR} in data paths.
#pragma once

#include <optional>
#include <string>

namespace retort {

// Returns the value of a variable of the process environment; nothing when it is not set.
[[nodiscard]] std::optional<std::string> EnvironmentVariable(const std::string& name);

}  // namespace retort
