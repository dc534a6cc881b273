// Files that a stranger could leave where attempt.h5 is expected: sound HDF5, sealed, and each with one thing
// in it that Retort never writes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace retort::testing {

struct HostileFile {
  std::string kind;    // in words
  std::string bytes;   // sealed
  std::string reason;  // a part of what a reader says of it
};

// `folder` takes files while they are built. `secret` is the path of a file whose bytes the files of external
// data would bring to light. Groups of the deepest file: `depth`.
[[nodiscard]] std::vector<HostileFile> HostileFiles(const std::string& folder, const std::string& secret,
                                                    std::size_t depth);

}  // namespace retort::testing
