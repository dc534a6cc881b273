// A data set as people have it on disk, opened: raw pixels in memory, or encoded images where they lie.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/datasets/file_tree.h"
#include "storage/files/env.h"

namespace retort::storage {

// Consecutive examples that the format separates from the others: "train", "validation", "test".
struct DataPart {
  std::string name;
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

// What a reader returns. Raw sets have `pixels`, encoded ones `pictures` and `files`.
struct ExampleSet {
  std::vector<std::string> class_names;  // as many as there are classes; may be empty for raw sets
  std::int64_t classes = 0;
  std::vector<std::int64_t> labels;                  // [n], each in 0..classes-1
  std::vector<DataPart> parts;                       // cover 0..n-1 in order; none where the format sets nothing apart
  std::int64_t channels = 0, height = 0, width = 0;  // raw: of each; encoded: of the first image's file
  std::vector<std::uint8_t> pixels;                  // raw: [n, channels, height, width]
  std::vector<TreeFile> pictures;                    // encoded: [n]
  std::vector<TreeFile> left_out;                    // encoded: images of the set that have no label
  std::shared_ptr<const FileTree> files;             // encoded: they lie in it
  std::vector<std::string> sources;                  // paths that were read, for messages
  std::vector<std::string> findings;                 // whole sentences: what was left out, what is fewer than published
  std::vector<std::string> warnings;                 // whole sentences: what may have been misunderstood
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
  [[nodiscard]] const std::string& Name(std::int64_t i) const { return DecodedImage(i).name; }
  [[nodiscard]] std::string Where(std::int64_t i) const { return set_.files->Where(DecodedImage(i)); }
  [[nodiscard]] Result<std::string> Read(std::int64_t i) const { return set_.files->Read(DecodedImage(i)); }

  [[nodiscard]] const ExampleSet& set() const { return set_; }

 private:
  [[nodiscard]] const TreeFile& DecodedImage(std::int64_t i) const {
    return set_.pictures[static_cast<std::size_t>(i)];
  }
  ExampleSet set_;
};

// Reads the files of `data.path` by `data.reader` (with target and version). Pixels of raw sets are read
// whole; of encoded sets the index alone. Labels lie below data.classes unless that is 0. Errors: usage for
// an unknown reader; environment when a file is missing, naming it and where it would be found; damage,
// naming file and offset; refused for hostile archives.
[[nodiscard]] Result<std::unique_ptr<ExampleStore>> OpenExamples(Env& env, const DataSpec& data);

}  // namespace retort::storage
