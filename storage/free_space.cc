#include "storage/free_space.h"

#include <cstdio>

namespace retort::storage {

std::string MebibytesText(std::uint64_t bytes) {
  char text[32] = {};
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

Status CheckFreeSpace(Env& env, const std::string& directory, std::uint64_t bytes, const std::string& what) {
  RETORT_ASSIGN_OR_RETURN(const std::uint64_t free, env.FreeBytes(directory.empty() ? "." : directory));
  if (free >= kSpareBytes && free - kSpareBytes >= bytes) return {};
  return EnvironmentError(
      "The disk is full: " + what + " of " + MebibytesText(bytes) + " does not fit into the " +
      MebibytesText(free) + " that are left for '" + directory + "' (" + MebibytesText(kSpareBytes) +
      " stay free for the logs). Free some space and run the same command again, or choose "
      "another folder with --results DIR.");
}

}  // namespace retort::storage
