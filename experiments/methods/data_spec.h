// A data set of a sweep: one [data.NAME] table, how its images are prepared, and the formats that it may have.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort {

// What becomes of a data set with an image that cannot be decoded.
enum class OnError : std::uint8_t {
  fail,            // the trial ends, naming the image
  skip_and_count,  // the image is absent from its split, and counted; the others stay where they are
};

// In this order: rows off the top, resize (bilinear with antialias, as Pillow does it), centre crop. All
// lengths in pixels; 0 = not done. Part of a trial's identity.
struct Preprocessing {
  double crop_top = 0;                 // fraction of the rows taken off the top, [0, 1); COVIDx uses 0.08
  std::int64_t resize = 0;             // the short side becomes this, the aspect stays; not with height and width
  std::int64_t height = 0, width = 0;  // resized to exactly this; both or neither
  std::int64_t crop = 0;               // side of the square cut from the centre
  bool exif_orientation = false;       // turn images as their EXIF says; torchvision's loader does not
  OnError on_error = OnError::fail;
  bool operator==(const Preprocessing&) const = default;
};

// torchvision's presets for ImageNet: weights V1, and V2.
inline constexpr Preprocessing kImageNetV1{.resize = 256, .crop = 224};
inline constexpr Preprocessing kImageNetV2{.resize = 232, .crop = 224};

inline constexpr std::int64_t kMaxPreparedSide = 4096;  // px
// Error: usage, naming the keys: both resize and size, a crop larger than what is cut, a side above
// kMaxPreparedSide, a resize without a crop, ...
[[nodiscard]] Status CheckPreprocessing(const Preprocessing& preprocessing);

// Sides of every image so prepared; zeros when each keeps its own.
struct PreparedSides {
  std::int64_t height = 0, width = 0;
};
[[nodiscard]] PreparedSides ComputePreparedSides(const Preprocessing& preprocessing);

// Positions [begin, end) in the permutation of all indices that `shuffle` fixes.
struct IndexRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
  bool operator==(const IndexRange&) const = default;
};

// Where the examples of a split come from. At most one of `part`, `list` and `fraction` is set; with none of
// them, from all examples.
struct SplitSource {
  std::string part;       // of the format, as "train"; the range then holds positions in that part
  std::string list;       // absolute path of a file of indices or names; not part of identity
  std::string digest;     // of the list: SHA-256 of its indices, 64 hex digits; filled by inspection
  double fraction = 0;    // of all examples; 0 = none. Inspection turns it into a range
  bool open_end = false;  // the range ends where the part does, which inspection fills in
  bool operator==(const SplitSource&) const = default;
};

struct SplitSpec {
  std::uint64_t shuffle = 0;  // 0 = file order; otherwise the permutation's number
  IndexRange train;           // the private examples
  IndexRange public_range;    // may be empty
  IndexRange test;
  IndexRange validation;  // private examples that no training sees; may be empty
  SplitSource train_source, public_source, test_source, validation_source;
};

// A part of a split, under the name of its key.
struct SplitPart {
  const char* name;
  IndexRange SplitSpec::*range;
  SplitSource SplitSpec::*source;
};
// In the order in which fractions follow one another.
inline constexpr std::array<SplitPart, 4> kSplitParts = {
    {{"train", &SplitSpec::train, &SplitSpec::train_source},
     {"public", &SplitSpec::public_range, &SplitSpec::public_source},
     {"test", &SplitSpec::test, &SplitSpec::test_source},
     {"validation", &SplitSpec::validation, &SplitSpec::validation_source}}};

struct Budget {
  double epsilon = 0;
  double delta = 0;
};

// One [data.NAME] table.
struct DataSpec {
  std::string name;
  std::string reader;           // "idx", "cifar10", ...: a name of ListDataReaders()
  std::string target, version;  // of readers that have several; else empty
  std::string path;             // absolute after ${VAR} and relative-to-file resolution; not part of identity
  std::string digest;           // 64 hex digits of SHA-256 over the files' bytes in a fixed order; identity
  std::optional<std::string> published_as;  // joins published tables under this name
  SplitSpec split;
  std::optional<Budget> budget;  // hard cap over all trials; not part of identity
  std::int64_t examples = 0;     // found on disk
  std::int64_t channels = 1, height = 28, width = 28;
  std::int64_t classes = 10;  // 0 = as many as the set has, which inspection fills in
  // Of a pixel between 0 and 1, one a channel; empty = those of the reader (FindPixelScale).
  std::vector<double> mean, std;
  Preprocessing preprocessing;  // of encoded images
  // Classes whose examples leave the public split and join the private one; sorted, distinct.
  std::vector<std::int64_t> sensitive_classes;
  std::int64_t moved = 0;  // public examples of these classes; filled by inspection
  // Those that training sees.
  [[nodiscard]] std::int64_t PrivateExamples() const { return split.train.size() + moved; }
  [[nodiscard]] std::int64_t PublicExamples() const { return split.public_range.size() - moved; }
  [[nodiscard]] std::int64_t ValidationExamples() const { return split.validation.size(); }
};

struct DataReader {
  std::string_view name;                       // value of `reader`
  std::string_view doc;                        // what lies at `path`
  std::span<const std::string_view> targets;   // of `target`, the default first; empty = no such key
  std::span<const std::string_view> versions;  // of `version`, the default first; empty = no such key
  std::span<const std::string_view> parts;     // that a split may name
  std::int64_t classes = 0;                    // by default; 0 = as many as the set has
  std::int64_t channels = 3;                   // of its images; 0 = the files say
  bool encoded = false;                        // JPEG and PNG images, decoded when they are loaded
  std::span<const double> mean, std;           // published, one a channel
};

[[nodiscard]] std::span<const DataReader> ListDataReaders();
// Null when there is none of that name.
[[nodiscard]] const DataReader* FindDataReader(std::string_view name);
[[nodiscard]] std::vector<std::string> ListDataReaderNames();

// pixel = (byte / 255 - mean) / std, one value a channel. Constants that are published or written in the
// sweep file: statistics of the private examples would be a release.
struct PixelScale {
  std::vector<double> mean, std;
};
// Returns the scale of `data.channels` channels: the table's values, else the reader's. A set with another number of
// channels than the reader's constants takes their average in each.
[[nodiscard]] PixelScale FindPixelScale(const DataSpec& data);

}  // namespace retort
