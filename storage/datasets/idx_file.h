// The IDX format of MNIST and its relatives: images and labels as unsigned bytes, plain or gzipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/files/env.h"

namespace retort::storage {

struct IdxImages {
  std::int64_t count = 0, height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  // [count, height, width], 0 = background
};

// One file's bytes as they stand on disk (`file` is only for messages; a name that ends in .gz is inflated).
// Errors, each naming the file: damage when it is no IDX file of that kind (wrong magic), is truncated, or
// has bytes behind its contents.
[[nodiscard]] Result<IdxImages> ParseIdxImages(const std::string& file, std::string_view bytes);
[[nodiscard]] Result<std::vector<std::uint8_t>> ParseIdxLabels(const std::string& file, std::string_view bytes);

// A data set in memory, in the order of its files.
struct IdxData {
  std::int64_t examples = 0, height = 0, width = 0;
  std::int64_t train = 0;            // how many of them, the first, are of the train pair
  std::vector<std::uint8_t> pixels;  // [examples, height, width]
  std::vector<std::uint8_t> labels;  // [examples], each < classes of the DataSpec
};

// `data.path` is a folder. It holds train-images-idx3-ubyte with train-labels-idx1-ubyte, or
// t10k-images-idx3-ubyte with t10k-labels-idx1-ubyte, or both pairs; each file plain or with .gz, plain
// preferred. Examples are numbered through the train pair, then the t10k pair; plain t10k files of no example, which
// other programs ask for, are as absent ones.
//
// The digest is SHA-256 over, for each file in the order train images, train labels, t10k images, t10k
// labels (absent pairs left out): its size on disk in bytes as 8 bytes little endian, then the bytes as
// they stand on disk. Packing or unpacking a file therefore makes another data set; ComputeUnpackedDigest tells that
// its examples are the same.

// Fills digest, examples, channels (1), height and width. Reads all bytes, but inflates only the headers of
// images: what is behind them is checked by size (plain) or by the size in the gzip trailer. Labels are read
// and must lie below `data.classes`, which stays as it is.
// Errors: environment when the folder or a file is missing (naming it); damage, naming the file.
[[nodiscard]] Status InspectIdx(Env& env, DataSpec& data);

// The digest that the data set would have if each of its files were unpacked: `data.digest` (as InspectIdx
// left it) of plain files. Inflates the others. Errors as above.
[[nodiscard]] Result<std::string> ComputeUnpackedDigest(Env& env, const DataSpec& data);

// Reads everything, and refuses bytes whose digest is not `data.digest` (unless that is empty).
// Errors as above.
[[nodiscard]] Result<IdxData> LoadIdx(Env& env, const DataSpec& data);

}  // namespace retort::storage
