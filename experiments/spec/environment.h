// The process environment, for ${VAR} in data paths.
#pragma once

#include <optional>
#include <string>

namespace retort {

// Nothing when the variable is not set.
[[nodiscard]] std::optional<std::string> EnvironmentVariable(const std::string& name);

}  // namespace retort
