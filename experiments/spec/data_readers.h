// The data sets that a [data] table can name, and what each of them is known to be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/trial_spec.h"

namespace retort {

struct DataReader {
  std::string_view name;                       // value of `reader`
  std::string_view doc;                        // what lies at `path`
  std::span<const std::string_view> targets;   // of `target`, the default first; empty = no such key
  std::span<const std::string_view> versions;  // of `version`, the default first; empty = no such key
  std::span<const std::string_view> parts;     // that a split may name
  std::int64_t classes = 0;                    // by default; 0 = as many as the set has
  std::int64_t channels = 3;                   // of its pictures; 0 = the files say
  bool encoded = false;                        // JPEG and PNG pictures, decoded by whoever loads them
  std::span<const double> mean, std;           // published, one a channel
};

[[nodiscard]] std::span<const DataReader> DataReaders();
// Null when there is none of that name.
[[nodiscard]] const DataReader* FindDataReader(std::string_view name);
[[nodiscard]] std::vector<std::string> DataReaderNames();

// pixel = (byte / 255 - mean) / std, one value a channel. Constants that are published or written in the
// sweep file: statistics of the private examples would be a release.
struct PixelScale {
  std::vector<double> mean, std;
};
// Of `data.channels` channels: what the table says, else the reader's; a set of other channels than the
// reader's constants takes their average in each.
[[nodiscard]] PixelScale PixelScaleOf(const DataSpec& data);

}  // namespace retort
