// SVHN, format 2: X is u8 [32, 32, 3, n], the first index fastest; y is [n, 1] of 1 to 10, and 10 means the
// digit 0.
#include <utility>

#include "storage/datasets/readers.h"
#include "storage/files/env.h"
#include "storage/files/path_status.h"
#include "storage/formats/mat_file.h"

namespace retort::storage {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{2} << 30;

const MatArray* Find(const std::vector<MatArray>& arrays, const std::string& name) {
  for (const MatArray& array : arrays)
    if (array.name == name) return &array;
  return nullptr;
}

// [32, 32, 3, n] column by column to [n, 3, 32, 32] row by row.
void AddPixels(const MatArray& x, std::int64_t count, ExampleSet& set) {
  const std::size_t first = set.pixels.size();
  set.pixels.resize(first + x.bytes.size());
  const std::int64_t height = x.shape[0], width = x.shape[1], channels = x.shape[2];
  auto out = set.pixels.begin() + static_cast<std::ptrdiff_t>(first);
  for (std::int64_t n = 0; n < count; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t row = 0; row < height; ++row)
        for (std::int64_t column = 0; column < width; ++column)
          *out++ = static_cast<std::uint8_t>(
              x.bytes[static_cast<std::size_t>(((n * channels + c) * width + column) * height + row)]);
}

Status AddLabels(const std::string& path, const MatArray& y, std::int64_t count, ExampleSet& set) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double label = y.Number(i);
    if (!(label >= 1 && label <= 10) || label != static_cast<double>(static_cast<int>(label)))
      return DamageError(path + ": label " + std::to_string(label) + " of example " + std::to_string(i) +
                         " is not one of 1 to 10 (10 is the digit 0)");
    set.labels.push_back(static_cast<std::int64_t>(label) % 10);
  }
  return {};
}

Status AddFile(Env& env, const std::string& path, ExampleSet& set) {
  RETORT_ASSIGN_OR_RETURN(const auto file, env.OpenInput(path));
  if (file->size() > kMaxFile) return Refused(path + " is larger than any file of this set (2 GiB)");
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(*file, 0, file->size()));
  RETORT_ASSIGN_OR_RETURN(const std::vector<MatArray> arrays, ParseMat(path, bytes));
  const MatArray* x = Find(arrays, "X");
  const MatArray* y = Find(arrays, "y");
  if (x == nullptr || y == nullptr)
    return DamageError(path + ": has no variable \"" + (x == nullptr ? "X" : "y") +
                       "\"; expected the cropped digits (train_32x32.mat), not the full pictures");
  if (!x->bytes_of_u8() || x->shape.size() < 3 || x->shape.size() > 4 || x->shape[0] != 32 || x->shape[1] != 32 ||
      x->shape[2] != 3)
    return DamageError(path + ": X is not of bytes [32, 32, 3, n]");
  const std::int64_t count = x->shape.size() == 4 ? x->shape[3] : 1;
  if (count == 0) return DamageError(path + ": X holds no example");
  if (y->kind != MatKind::numbers || y->size() != count)
    return DamageError(path + ": y holds " + std::to_string(y->size()) + " labels, and X " + std::to_string(count) +
                       " pictures");
  RETORT_RETURN_IF_ERROR(AddLabels(path, *y, count, set));
  AddPixels(*x, count, set);
  set.sources.push_back(path);
  return {};
}

}  // namespace

Result<ExampleSet> ReadSvhn(Env& env, const DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(const FileStamp stamp, env.Stamp(data.path));
  if (!stamp.folder)
    return UsageError("data." + data.name + ": " + data.path +
                      " is a file; name the folder that holds train_32x32.mat and test_32x32.mat");
  ExampleSet set;
  set.channels = 3;
  set.height = set.width = 32;
  set.classes = 10;
  for (char digit = '0'; digit <= '9'; ++digit) set.class_names.emplace_back(1, digit);
  for (const std::string part : {"train", "test", "extra"}) {
    const std::string path = data.path + "/" + part + "_32x32.mat";
    RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, path));
    if (!there && part == "extra") continue;
    if (!there) return MissingFile(data, path, "it is at http://ufldl.stanford.edu/housenumbers");
    RETORT_RETURN_IF_ERROR(AddFile(env, path, set));
    EndPart(set, part);
    const std::int64_t published = part == "train" ? 73257 : part == "test" ? 26032 : 531131;
    if (set.parts.back().size() != published)
      set.findings.push_back("Part \"" + part + "\" holds " + std::to_string(set.parts.back().size()) +
                             " examples; the published set has " + std::to_string(published) + ".");
  }
  return set;
}

}  // namespace retort::storage
