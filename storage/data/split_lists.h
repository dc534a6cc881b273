// Lists of examples: an index from 0, or the name of a picture, a line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/data/example_store.h"

namespace retort::storage {

// In the order of the file at `path`. `#` begins a comment. A name is one relative to the set, with or
// without the folders that all names share, or the last part of one alone where no other picture has it.
// Errors: environment when the file is missing; usage, naming the list and the line.
[[nodiscard]] Result<std::vector<std::int64_t>> ReadSplitList(Env& env, const std::string& path,
                                                              const ExampleStore& store);
// How many examples it lists, where there is no set to look them up in. Errors: as ReadSplitList, of the file.
[[nodiscard]] Result<std::int64_t> CountListed(Env& env, const std::string& path);
// SHA-256 over the indices, 8 bytes each, little endian; 64 hex digits.
[[nodiscard]] std::string DigestOfIndices(const std::vector<std::int64_t>& indices);

}  // namespace retort::storage
