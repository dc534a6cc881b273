// The marks of a results root, the folder that holds results folders: they record which private examples its sweeps
// have used, so that a budget recognises them in other files and under other names. Bytes: FORMAT.md, "Marks".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "storage/datasets/example_digests.h"
#include "storage/files/env.h"

namespace retort::storage {

// Of one data set with one split.
struct DataMarks {
  std::string data;                        // its unpacked digest, 64 hex digits
  std::string split;                       // SplitName
  std::vector<ExampleMark> hidden, shown;  // of SplitDigests: sorted, each once
};

// 16 hex digits of what decides which examples of a data set are private: the split, and how the set is read.
// REQUIRES: the spec was inspected.
[[nodiscard]] std::string SplitName(const DataSpec& data);
[[nodiscard]] DataMarks MakeMarks(const MarkKey& key, const std::string& unpacked, const DataSpec& data,
                                  const SplitDigests& digests);
// Counts the marks that two sorted lists share.
[[nodiscard]] std::int64_t CountShared(const std::vector<ExampleMark>& a, const std::vector<ExampleMark>& b);

// The folder of the marks below `root`.
[[nodiscard]] std::string GetMarksFolder(const std::string& root);

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
// Locks the root while a sweep records the examples that it uses and looks at those of the others. Waits a minute for
// another sweep. Error: environment.
[[nodiscard]] Result<std::unique_ptr<FileLock>> LockOpening(Env& env, const std::string& root);
// Durable on return; the same set again is replaced by equal bytes.
[[nodiscard]] Status StoreMarks(Env& env, const std::string& root, const MarkKey& key, const DataMarks& marks);

}  // namespace retort::storage
