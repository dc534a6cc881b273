// What this process is told by its environment variables.
#pragma once

#include <string>

namespace retort::storage {

// Empty where the variable is not set.
[[nodiscard]] std::string ReadVariable(const char* name);
// `name` among this user's caches: $XDG_CACHE_HOME/retort/`name`, else $HOME/.cache/retort/`name`; empty where there is
// no place for them.
[[nodiscard]] std::string FindCacheFolder(const std::string& name);

}  // namespace retort::storage
