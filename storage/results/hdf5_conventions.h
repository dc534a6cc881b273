// What Retort's HDF5 files share: what their numbers mean, for people who open them without storage/FORMAT.md (the
// attributes `long_name` and `units`, dimension scales that name axes), named tensors in their order, and curves over
// a common dimension `step`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"
#include "storage/log/attempt_logs.h"

namespace retort::storage {

class Hdf5Reader;
class Hdf5Writer;

// Columns of a compound HDF5 dataset.
using ColumnValues =
    std::variant<std::vector<std::string>, std::vector<double>, std::vector<std::int64_t>, std::vector<std::uint64_t>>;

// Strings are stored as fixed-length UTF-8, as long as the longest, padded with NUL.
struct TableColumn {
  std::string name;
  ColumnValues values;     // all columns of a table have as many
  std::string units = {};  // as of Quantity
};

using Table = std::vector<TableColumn>;

// UDUNITS: "s"; "1" is a fraction, a count or a loss. Empty: none.
struct Quantity {
  std::string long_name;
  std::string units;
};

// Of a curve, a metric or a timing by its name: "train.student_loss", "step_seconds". A name of none of the
// known ones is its own words.
[[nodiscard]] Quantity FindQuantity(const std::string& name);

// `path` has been written.
void Describe(Hdf5Writer& writer, const std::string& path, const Quantity& quantity);

// Attribute `column_units` of a table that has been written: a JSON object of the columns that have units.
void DescribeColumns(Hdf5Writer& writer, const std::string& path, const std::vector<TableColumn>& table);

// Creates the dimension scale `path` = 0 … extent − 1, a dimension called as its last component. An extent
// that no image and no set of classes has is refused through the writer.
void WriteScale(Hdf5Writer& writer, const std::string& path, std::int64_t extent, std::string_view long_name);

// Axis i of `dataset` is measured by scales[i]; axes beyond the scales are left without.
void AttachScales(Hdf5Writer& writer, const std::string& dataset, const std::vector<std::string>& scales);

// Each at `root`/<name>, with its position in the attribute `order`. `root` is "" for the top.
void WriteTensors(Hdf5Writer& writer, const std::string& root, const std::vector<TensorBlob>& tensors);
// Those whose name begins with one of `prefixes`, in the order written. No prefix may begin another.
[[nodiscard]] Result<std::vector<TensorBlob>> ReadTensors(const Hdf5Reader& reader, const std::string& root,
                                                          const std::vector<std::string>& prefixes);

// `group`/step holds every step at which any curve has a point; a curve without a point there has NaN.
// In dataset names '/' becomes '.'. No curves: an empty group.
void WriteCurves(Hdf5Writer& writer, const std::string& group, const Curves& curves);
// NaN points are left out, and with them what never was one.
[[nodiscard]] Result<Curves> ReadCurves(const Hdf5Reader& reader, const std::string& group);
// Curves of wall-clock time ("seconds", "step_seconds"), which differ between equal runs.
[[nodiscard]] bool IsTiming(const std::string& curve);

}  // namespace retort::storage
