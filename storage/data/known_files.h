// MD5 of files as their publishers distribute them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::storage {

struct KnownFile {
  std::string_view reader, set;  // "idx", "Fashion-MNIST"
  std::string_view name;
  std::string_view md5;  // 32 hex digits
};

struct FoundFile {
  std::string path;
  std::uint64_t size = 0;
  std::string md5;
  std::string as_published;  // the set that publishes these very bytes under this name; empty = they differ
};

// Of torchvision's and MedMNIST's sources.
[[nodiscard]] std::vector<KnownFile> KnownFiles(std::string_view reader);
// Files with the names of known ones in `path` (a file or a folder) and in the folders below it, three deep;
// each is read whole. What cannot be read is left out: opening the set names it.
[[nodiscard]] std::vector<FoundFile> CompareKnownFiles(Env& env, std::string_view reader,
                                                       const std::string& path);

}  // namespace retort::storage
