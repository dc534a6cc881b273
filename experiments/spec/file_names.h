// Names of a sweep file that become names of files.
#pragma once

#include <cstddef>
#include <string>

namespace retort {

// Leaves room for what is added to it, in a name of 255 bytes at most.
inline constexpr std::size_t kMostFileNameBytes = 200;

// The error about `name`, which is longer.
inline std::string TooLongForAFile(const std::string& what, const std::string& name) {
  return what + " has " + std::to_string(name.size()) + " bytes, and files are called by it: " +
         std::to_string(kMostFileNameBytes) + " at most";
}

}  // namespace retort
