// A data set as people have it on disk, opened: raw pixels in memory, or encoded pictures where they lie.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"
#include "storage/data/file_tree.h"
#include "storage/env.h"

namespace retort::storage {

// Consecutive examples that the format sets apart: "train", "validation", "test".
struct DataPart {
  std::string name;
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

// What a reader finds. Raw sets have `pixels`, encoded ones `pictures` and `files`.
struct ExampleSet {
  std::vector<std::string> class_names;  // as many as there are classes; may be empty for raw sets
  std::int64_t classes = 0;
  std::vector<std::int64_t> labels;  // [n], each in 0..classes-1
  std::vector<DataPart> parts;       // cover 0..n-1 in order; none where the format sets nothing apart
  std::int64_t channels = 0, height = 0, width = 0;  // raw: of each; encoded: of the first picture's file
  std::vector<std::uint8_t> pixels;                  // raw: [n, channels, height, width]
  std::vector<TreeFile> pictures;                    // encoded: [n]
  std::vector<TreeFile> left_out;                    // encoded: pictures of the set that have no label
  std::shared_ptr<const FileTree> files;             // encoded: they lie in it
  std::vector<std::string> sources;                  // paths that were read, for messages
  std::vector<std::string> findings;  // whole sentences: what was left out, what is fewer than published
  std::vector<std::string> warnings;  // whole sentences: what may be meant otherwise than it was read
};

// Immutable; every function may be called from many threads.
class ExampleStore {
 public:
  explicit ExampleStore(ExampleSet set) : set_(std::move(set)) {}
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(set_.labels.size()); }
  [[nodiscard]] bool encoded() const { return !set_.pictures.empty(); }
  [[nodiscard]] std::int64_t classes() const { return set_.classes; }
  [[nodiscard]] const std::vector<std::string>& class_names() const { return set_.class_names; }
  [[nodiscard]] const std::vector<std::int64_t>& labels() const { return set_.labels; }
  [[nodiscard]] const std::vector<DataPart>& parts() const { return set_.parts; }
  [[nodiscard]] std::int64_t channels() const { return set_.channels; }
  [[nodiscard]] std::int64_t height() const { return set_.height; }
  [[nodiscard]] std::int64_t width() const { return set_.width; }
  // u8 [size, channels, height, width]; empty of encoded sets.
  [[nodiscard]] const std::vector<std::uint8_t>& pixels() const { return set_.pixels; }

  // Of encoded sets, i in 0..size-1: the name relative to the set's folder or archive, where it lies for
  // messages, and the bytes of its JPEG or PNG file as they stand.
  [[nodiscard]] const std::string& Name(std::int64_t i) const { return Picture(i).name; }
  [[nodiscard]] std::string Where(std::int64_t i) const { return set_.files->Where(Picture(i)); }
  [[nodiscard]] Result<std::string> Read(std::int64_t i) const { return set_.files->Read(Picture(i)); }

  [[nodiscard]] const ExampleSet& set() const { return set_; }

 private:
  [[nodiscard]] const TreeFile& Picture(std::int64_t i) const {
    return set_.pictures[static_cast<std::size_t>(i)];
  }
  ExampleSet set_;
};

// Reads the files of `data.path` by `data.reader` (with target and version). Pixels of raw sets are read
// whole; of encoded sets the index alone. Labels lie below data.classes unless that is 0. Errors: usage for
// an unknown reader; environment when a file is missing, naming it and where it would be found; damage,
// naming file and offset; refused for hostile archives.
[[nodiscard]] Result<std::unique_ptr<ExampleStore>> OpenExamples(Env& env, const DataSpec& data);

// Where digests of files that have not changed are kept; empty = they are not.
struct DigestCache {
  std::string folder;
  bool read = true;  // false: what is there is counted anew, and replaced
};
// Of this process: $XDG_CACHE_HOME/retort/data, else $HOME/.cache/retort/data.
[[nodiscard]] DigestCache ProcessDigestCache();

// The names of a set's contents, each 64 hex digits of SHA-256.
struct DataDigests {
  // idx: see idx_file.h. Else over `pictures`, labels, class and part borders: independent of packing.
  std::string content;
  // What names the examples, whatever their labels. Raw: over shape and pixels. Encoded: over names and
  // bytes, in the order of the names. idx: of the unpacked files.
  std::string examples;
};
// Told on the calling thread that file number `done` of `of` was read. What it says that is not ok ends the work.
using DigestProgress = std::function<Status(std::int64_t done, std::int64_t of)>;
// Reads every byte, unless the cache knows files of the same path, size, times and inode; tells of the files of
// encoded sets.
[[nodiscard]] Result<DataDigests> DigestsOf(Env& env, const DataSpec& data, const ExampleStore& store,
                                            const DigestCache& cache, const DigestProgress& progress = {});

// What was noticed beside what a trial needs; as of ExampleSet.
struct DataNotes {
  std::vector<std::string> class_names, warnings;
};

// Fills digest, examples, channels, height, width, classes (where 0) and what the split leaves open:
// fractions, open ends, the digests of lists, and how many examples the sensitive classes move. Height and width of encoded sets, of the first picture's
// file, are filled only where they are 0. Errors: of OpenExamples; usage where split or classes do not fit
// what is there.
[[nodiscard]] Status InspectData(Env& env, DataSpec& data, const DigestCache& cache, DataNotes* notes = nullptr);

// What names the examples of a set that was inspected (DataDigests::examples). Errors: of OpenExamples.
[[nodiscard]] Result<std::string> UnpackedDigest(Env& env, const DataSpec& data, const DigestCache& cache);

// Error: damage when the set is not the one that was planned, by `data.digest`, unless that is empty. Of
// encoded sets that the cache knows by stamp, no byte is read.
[[nodiscard]] Status CheckUnchanged(Env& env, const DataSpec& data, const ExampleStore& store,
                                    const DigestCache& cache, const DigestProgress& progress = {});

// One split: either positions [range.begin, range.end) in the permutation of the examples [first, first +
// count) that `shuffle` fixes, or, when `listed` is not empty, those indices in that order.
struct SplitPlace {
  std::int64_t first = 0, count = 0;
  IndexRange range;
  std::vector<std::int64_t> listed;
};
struct SplitPlaces {
  SplitPlace train, public_split, test;
};
// Position i of a split of n examples is number SplitOrder(n, shuffle)[i] of them. shuffle 0 = file order;
// otherwise Permutation(n) of the stream (shuffle, Purpose::split): independent of the records.
[[nodiscard]] std::vector<std::int64_t> SplitOrder(std::int64_t n, std::uint64_t shuffle);
// Index in the set of each example of a split, in its order.
[[nodiscard]] std::vector<std::int64_t> IndicesOf(const SplitPlace& place, std::uint64_t shuffle);
// Of a set whose DataSpec was inspected. Public examples of its sensitive classes stand behind the private ones.
// Errors: environment for a missing list; usage, naming the list and the line, for what is no example, and for
// examples in two splits.
[[nodiscard]] Result<SplitPlaces> PlacesOf(Env& env, const DataSpec& data, const ExampleStore& store);

}  // namespace retort::storage
