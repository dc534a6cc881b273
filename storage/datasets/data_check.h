// What `retort data check` says of a data set on disk, without training on it; and the MD5 of files as their publishers
// distribute them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"
#include "storage/datasets/data_inspection.h"
#include "storage/files/env.h"

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
[[nodiscard]] std::vector<KnownFile> ListKnownFiles(std::string_view reader);
// Files with the names of known ones in `path` (a file or a folder) and in the folders below it, three deep;
// each is read whole. What cannot be read is left out: opening the set names it.
[[nodiscard]] std::vector<FoundFile> CompareKnownFiles(Env& env, std::string_view reader, const std::string& path);

struct DataReport {
  std::int64_t examples = 0, classes = 0, channels = 0, height = 0, width = 0;
  bool encoded = false;
  std::vector<std::string> class_names;    // one a class; numbers where the set names none
  std::vector<std::int64_t> class_counts;  // one a class
  std::vector<DataPart> parts;
  DataDigests digests;
  std::vector<std::string> sources, findings, warnings;
  std::vector<FoundFile> known;
  std::vector<std::string> damaged;  // images whose files are not whole: where, and at which byte
  std::size_t damaged_in_all = 0;    // `damaged` names the first 1000
};

// Reads every byte and updates the cache. A damaged image is part of the report; anything else that is wrong is an
// error. Errors: of OpenExamples.
[[nodiscard]] Result<DataReport> CheckData(Env& env, const DataSpec& data, const DigestCache& cache);

}  // namespace retort::storage
