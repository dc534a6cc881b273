// The variables of this process, for ${VAR} in data paths and for folders of caches.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace retort {

// Returns the value of a variable of the process environment; nothing when it is not set.
[[nodiscard]] std::optional<std::string> GetEnvironmentVariable(const std::string& name);

// Returns the folder for this user's caches: $XDG_CACHE_HOME/retort, else $HOME/.cache/retort; empty where neither
// variable is an absolute path. `find` returns the value of a variable.
[[nodiscard]] std::string FindCacheFolder(
    const std::function<std::optional<std::string>(const std::string&)>& find = GetEnvironmentVariable);

}  // namespace retort
