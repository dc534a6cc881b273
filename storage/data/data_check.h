// Everything that can be said of a data set on disk without training on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/data/example_store.h"
#include "storage/data/known_files.h"

namespace retort::storage {

struct DataReport {
  std::int64_t examples = 0, classes = 0, channels = 0, height = 0, width = 0;
  bool encoded = false;
  std::vector<std::string> class_names;    // one a class; numbers where the set names none
  std::vector<std::int64_t> class_counts;  // one a class
  std::vector<DataPart> parts;
  DataDigests digests;
  std::vector<std::string> sources, findings, warnings;
  std::vector<FoundFile> known;
  std::vector<std::string> damaged;  // pictures whose files are not whole: where, and at which byte
  std::size_t damaged_in_all = 0;    // `damaged` names the first 1000
};

// Reads every byte, whatever the cache says, which learns of it. A damaged picture is part of the report; anything
// else that is wrong is the error.
// Errors: of OpenExamples.
[[nodiscard]] Result<DataReport> CheckData(Env& env, const DataSpec& data, const DigestCache& cache);

}  // namespace retort::storage
