#include "experiments/base/environment.h"

#include <cstdlib>

namespace retort {

std::optional<std::string> GetEnvironmentVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::string FindCacheFolder(const std::function<std::optional<std::string>(const std::string&)>& find) {
  const std::string own = find("XDG_CACHE_HOME").value_or(""), home = find("HOME").value_or("");
  if (own.starts_with('/')) return own + "/retort";
  return home.starts_with('/') ? home + "/.cache/retort" : "";
}

}  // namespace retort
