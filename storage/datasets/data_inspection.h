// What a plan has to know of a data set: what names it, its shape, and what its split leaves open; and whether it is
// still the one that was planned.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/datasets/example_store.h"
#include "storage/datasets/splits.h"
#include "storage/files/env.h"

namespace retort::storage {

// Where digests of files that have not changed are kept; an empty folder: nowhere.
struct DigestCache {
  std::string folder;
  bool read = true;  // false: digests are computed again, and replace those that are kept
};
// The cache of this process: $XDG_CACHE_HOME/retort/data, else $HOME/.cache/retort/data.
[[nodiscard]] DigestCache FindDigestCache();

// Digests that identify a set's contents, each 64 hex digits of SHA-256.
struct DataDigests {
  // idx: see idx_file.h. Else over `pictures`, labels, class and part borders: independent of packing.
  std::string content;
  // Identifies the examples, whatever their labels. Raw: over shape and pixels. Encoded: over names and
  // bytes, in the order of the names. idx: of the unpacked files.
  std::string examples;
};
// Called on the calling thread when file number `done` of `of` was read. An error that it returns ends the work.
using DigestProgress = std::function<Status(std::int64_t done, std::int64_t of)>;
// Reads every byte, unless the cache knows files of the same path, size, times and inode; reports the progress of
// encoded sets.
[[nodiscard]] Result<DataDigests> ComputeDataDigests(Env& env, const DataSpec& data, const ExampleStore& store,
                                                     const DigestCache& cache, const DigestProgress& progress = {});

// What else was found, for messages; as in ExampleSet.
struct DataNotes {
  std::vector<std::string> class_names, warnings;
};

// Fills digest, examples, channels, height, width, classes (where 0) and what the split leaves open:
// fractions, open ends, the digests of lists, and how many examples the sensitive classes move. Height and width of
// encoded sets, of the first image's file, are filled only where they are 0. Errors: of OpenExamples; usage where split
// or classes do not fit what is there.
[[nodiscard]] Status InspectData(Env& env, DataSpec& data, const DigestCache& cache, DataNotes* notes = nullptr);

// Returns DataDigests::examples of a set that was inspected. Errors: of OpenExamples.
[[nodiscard]] Result<std::string> ComputeUnpackedDigest(Env& env, const DataSpec& data, const DigestCache& cache);

// Error: damage when the set is not the one that was planned, by `data.digest`, unless that is empty. Of
// encoded sets that the cache knows by stamp, no byte is read.
[[nodiscard]] Status CheckUnchanged(Env& env, const DataSpec& data, const ExampleStore& store, const DigestCache& cache,
                                    const DigestProgress& progress = {});

}  // namespace retort::storage
