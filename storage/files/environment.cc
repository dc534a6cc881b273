#include "storage/files/environment.h"

#include <cstdlib>

namespace retort::storage {

std::string ReadVariable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string FindCacheFolder(const std::string& name) {
  const std::string shared = ReadVariable("XDG_CACHE_HOME"), home = ReadVariable("HOME");
  if (shared.starts_with('/')) return shared + "/retort/" + name;
  return home.starts_with('/') ? home + "/.cache/retort/" + name : "";
}

}  // namespace retort::storage
