// The marks of a results root, the folder that holds results folders: which private examples its sweeps have drawn on,
// so that a budget knows them again in other files and under other names. Bytes: FORMAT.md, "Marks".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/trial_spec.h"
#include "storage/data/example_digests.h"
#include "storage/env.h"
#include "storage/example_mark.h"

namespace retort::storage {

// Of one data set with one split.
struct DataMarks {
  std::string data;   // its unpacked digest, 64 hex digits
  std::string split;  // SplitName
  std::vector<ExampleMark> hidden, shown;  // of SplitDigests: sorted, each once
};

// What decides which examples of a data set are private, as 16 hex digits: the split, and how the set is read. Of a
// spec that was inspected.
[[nodiscard]] std::string SplitName(const DataSpec& data);
[[nodiscard]] DataMarks MarksOf(const MarkKey& key, const std::string& unpacked, const DataSpec& data,
                                const SplitDigests& digests);
// How many marks two such lists share.
[[nodiscard]] std::int64_t CountShared(const std::vector<ExampleMark>& a, const std::vector<ExampleMark>& b);

// Where they lie below `root`.
[[nodiscard]] std::string MarksFolder(const std::string& root);

struct RootMarks {
  std::string root;  // MarkKey::Name of the key they were made with; empty where there are none
  std::vector<DataMarks> sets;
};
// A file of marks, and the name of the key that made them. Error: damage, usage for another version; both name `path`.
[[nodiscard]] std::string EncodeMarks(const std::string& root, const DataMarks& marks);
[[nodiscard]] Result<DataMarks> DecodeMarks(std::string_view bytes, const std::string& path, std::string& root);
// Needs no key. Error: environment for a file that cannot be read; damage, naming it, for one that does not hold, and
// where two files were made with different keys.
[[nodiscard]] Result<RootMarks> ReadMarks(Env& env, const std::string& root);

// The root's key; nothing where it has neither key nor marks. Error: environment, with the remedy, where the key cannot
// be read or is missing beside marks; damage where it is another than theirs.
[[nodiscard]] Result<std::optional<MarkKey>> FindMarkKey(Env& env, const std::string& root);
// The same, made where there is none.
[[nodiscard]] Result<MarkKey> OpenMarkKey(Env& env, const std::string& root);
// Held by the one sweep of the root that says what it draws on, and looks at the others, just now. Waits a minute for
// another. Error: environment.
[[nodiscard]] Result<std::unique_ptr<FileLock>> LockOpening(Env& env, const std::string& root);
// Durable on return; the same set again is replaced by equal bytes.
[[nodiscard]] Status StoreMarks(Env& env, const std::string& root, const MarkKey& key, const DataMarks& marks);

}  // namespace retort::storage
